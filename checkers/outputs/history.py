"""When an application's instances were started again, and what they had checkpointed, from its journal."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.int64 import INT64_MAX, INT64_MIN
from checkers.journals.topic_partition import number_of
from checkers.journals.views import Views
from checkers.sql import case

_INTEGERS = range(INT64_MIN, INT64_MAX + 1)
_BY_OFFSET, _PARTITION, _BOUND, _ROW = "by_offset__", "partition__", "bound__", "row__"


@dataclass(frozen=True)
class ApplicationHistory:
    """`restarts` are times (ns) and instances, in order of time; `checkpoints` are the partition of the input
    (`topic_partition`), the time (ns) and the offset of each. Their numbers do not grow with the number of
    records."""

    restarts: tuple[tuple[int, int], ...] = ()
    checkpoints: tuple[tuple[int, int, int], ...] = ()

    def restarted_between(self, sent: Column, written: Column) -> Column:
        """The instance (int) that was started again last between two times of each row; null: none was."""
        cases = [
            ((sent <= at) & (written >= at), F.lit(instance)) for at, instance in reversed(self.restarts)
        ]
        return case(cases).cast("int")

    def with_checkpoints(
        self, rows: DataFrame, *, by_offset: Column, partition: Column, bound: Column
    ) -> DataFrame:
        """The rows with `checkpoint` (bigint): an offset that had been checkpointed of their partition.

        Args:
            by_offset: where it holds, the highest checkpoint that is not beyond `bound`, an offset; else the
                last one at or before `bound`, a time in ns. Null where none is known.
        """
        rows = rows.withColumn("checkpoint", F.lit(None).cast("bigint"))
        if not self.checkpoints:
            return rows
        known = [(True, at, offset, offset) for at, _, offset in self.checkpoints]
        known += [(False, at, time, offset) for at, time, offset in self.checkpoints]
        checkpoints = rows.sparkSession.createDataFrame(
            known, f"{_BY_OFFSET} boolean, {_PARTITION} bigint, {_BOUND} bigint, checkpoint bigint"
        )
        # The checkpoints are put among the rows, so that the checkpoint of a row is the last one before it,
        # without a join of each row with all checkpoints.
        keyed = rows.withColumns({_BY_OFFSET: by_offset, _PARTITION: partition, _BOUND: bound})
        together = keyed.unionByName(checkpoints, allowMissingColumns=True)
        together = together.withColumn(_ROW, F.col("checkpoint").isNull())
        order = [F.col(_BOUND).asc_nulls_first(), F.col(_ROW).asc(), F.col("checkpoint").asc_nulls_last()]
        before = Window.partitionBy(_BY_OFFSET, _PARTITION).orderBy(*order)
        last = F.last("checkpoint", ignorenulls=True).over(
            before.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        )
        return together.withColumn("checkpoint", last).where(F.col(_ROW)).select(*rows.columns)


def read_application(views: Views) -> ApplicationHistory:
    """The history of a run's application.

    The detail of an event may have a checkpoint: the next offset to read by partition of the input, such as
    `{"checkpoint": {"0": 120}}`.

    Raises:
        ValueError: a detail is not as above.
        PySparkException: the journal cannot be read.
    """
    restarts, checkpoints = [], []
    for row in views.application.collect():
        if row["event"] == "restarted":
            restarts.append((row["at_ns"], row["instance"]))
        found = json.loads(row["detail"] or "{}").get("checkpoint", {})
        for partition, offset in found.items() if isinstance(found, dict) else ():
            number = number_of(views.topics, views.meta.topic, int(partition))
            checkpoints.append((number, row["at_ns"], int(offset)))
    for checkpoint in checkpoints:
        if any(number not in _INTEGERS for number in checkpoint):
            raise ValueError(f"a checkpoint with a number of more than 64 bits: {checkpoint}")
    return ApplicationHistory(restarts=tuple(sorted(restarts)), checkpoints=tuple(sorted(checkpoints)))
