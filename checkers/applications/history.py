"""The processes of an application: when each was started again, and what had been checkpointed."""

from __future__ import annotations

import json
from typing import NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.evidence.findings import is_of
from checkers.int64 import INT64_MAX, INT64_MIN
from checkers.journals.topic_partition import number_of
from checkers.journals.views import Views
from checkers.sql import case
from harness.model.finding_class import FindingClass

_INTEGERS = range(INT64_MIN, INT64_MAX + 1)
_BY_OFFSET, _PARTITION, _BOUND, _ROW = "by_offset__", "partition__", "bound__", "row__"


class ApplicationHistory(NamedTuple):
    """`restarts` are times (ns) and instances, in order of time; `checkpoints` are the partition of the input
    (`topic_partition`), the time (ns) and the offset of each. Their numbers do not grow with the number of
    records."""

    restarts: tuple[tuple[int, int], ...] = ()
    checkpoints: tuple[tuple[int, int, int], ...] = ()


def with_history(rows: DataFrame, history: ApplicationHistory) -> DataFrame:
    """The rows with `instance` (string), the one that was started again last between the send (of a
    reprocessed input: its first output) and the last output, and `checkpoint` (bigint): the last offset of
    the input's partition that had been checkpointed before that output, of an unprocessed input the highest
    one that is not beyond it. Null where none is known."""
    unprocessed, written = is_of(FindingClass.UNPROCESSED), F.col("written_ns")
    begin = F.when(is_of(FindingClass.REPROCESSED), F.col("from_ns")).otherwise(F.col("sent_ns"))
    restarted = [
        ((begin <= at) & (written >= at), F.lit(instance)) for at, instance in reversed(history.restarts)
    ]
    number = case(restarted).cast("int").cast("string")
    instance = F.when(~unprocessed, F.concat(F.lit("instance "), number))
    rows = rows.withColumns({"instance": instance, "checkpoint": F.lit(None).cast("bigint")})
    if not history.checkpoints:
        return rows
    known = [(True, at, offset, offset) for at, _, offset in history.checkpoints]
    known += [(False, at, time, offset) for at, time, offset in history.checkpoints]
    checkpoints = rows.sparkSession.createDataFrame(
        known, f"{_BY_OFFSET} boolean, {_PARTITION} bigint, {_BOUND} bigint, checkpoint bigint"
    )
    # The checkpoints are put among the rows, so that the checkpoint of a row is the last one before it,
    # without a join of each row with all checkpoints.
    bound = F.when(unprocessed, F.col("in_offset")).otherwise(written)
    keyed = rows.withColumns(
        {_BY_OFFSET: unprocessed, _PARTITION: F.col("in_topic_partition"), _BOUND: bound}
    )
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
    for row in views.journal("application").collect():
        if row["event"] == "restarted":
            restarts.append((row["at_ns"], row["instance"]))
        offsets = json.loads(row["detail"] or "{}").get("checkpoint", {})
        for partition, offset in offsets.items() if isinstance(offsets, dict) else ():
            number = number_of(views.topics, views.meta.topic, int(partition))
            checkpoints.append((number, row["at_ns"], int(offset)))
    for checkpoint in checkpoints:
        if any(number not in _INTEGERS for number in checkpoint):
            raise ValueError(f"a checkpoint with a number of more than 64 bits: {checkpoint}")
    return ApplicationHistory(restarts=tuple(sorted(restarts)), checkpoints=tuple(sorted(checkpoints)))
