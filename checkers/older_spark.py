"""What PySpark 3.5 lacks, written in what it has, and the versions of Spark with which a check works.

A session that a caller brings may be of another version than the PySpark that kafka-chaos installs, classic
or of Spark Connect. Where its PySpark has a method of 4.0, that is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from weakref import WeakSet

import pyarrow as pa
from pyspark import __version__ as pyspark_version
from pyspark.sql import DataFrame, SparkSession

from harness.model.errors import CheckError

OLDEST_SPARK = (3, 5)
"""The first version with the functions of SQL that checks use (`bool_and`, `count_if`, `try_subtract`)."""


_accepted: WeakSet[SparkSession] = WeakSet()
"""Sessions that were asked already: a server's version costs a request."""


def require_spark(spark: SparkSession) -> None:
    """Refuse a session of which PySpark or the server is older than `OLDEST_SPARK`.

    Raises:
        CheckError: it is.
    """
    if spark in _accepted:
        return
    for name, version in (("PySpark", pyspark_version), ("Spark", spark.version)):
        if release_of(version) < OLDEST_SPARK:
            raise CheckError(
                "this Spark lacks functions that the check needs, so nothing was checked",
                where="the session that the check was given",
                expected=f"{name} {'.'.join(map(str, OLDEST_SPARK))} or later",
                found=f"{name} {version}",
                next_step="use a newer cluster, or copy the run folder here and use `kafka-chaos check`",
            )
    _accepted.add(spark)


def release_of(version: str) -> tuple[int, ...]:
    """The first two numbers of a version of Spark, such as (3, 5) of "3.5.1-amzn-1"."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def arrow_table(rows: DataFrame) -> pa.Table:
    """All rows as an Arrow table: `DataFrame.toArrow` of PySpark 4."""
    if hasattr(rows, "toArrow"):
        return rows.toArrow()
    old: Any = rows
    if not hasattr(old, "_collect_as_arrow"):
        client = old.sparkSession.client
        return client.to_table(old._plan.to_proto(client))[0]
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = old._collect_as_arrow()
    return pa.Table.from_batches(batches, None if batches else to_arrow_schema(rows.schema))


def apply_in_arrow(
    rows: DataFrame, keys: Sequence[str], function: Callable[[pa.Table], pa.Table], columns: str
) -> DataFrame:
    """What `function` makes of the rows of each group with the same `keys`: `GroupedData.applyInArrow` of
    PySpark 4. `columns` are those of its tables, as Spark's DDL and in this order."""
    grouped = rows.groupBy(*keys)
    if hasattr(grouped, "applyInArrow"):
        return grouped.applyInArrow(lambda table: function(table), columns)
    names = tuple(keys)

    def of_all_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in tables_of_groups(batches, names):
            yield from function(table).to_batches()

    # All rows of a group are in one partition, one after the other, and so in one call.
    return rows.repartition(*names).sortWithinPartitions(*names).mapInArrow(of_all_groups, columns)


def tables_of_groups(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.Table]:
    """A table for each group of rows with the same `keys`, which stand one after the other in these
    batches."""
    group: list[pa.RecordBatch] = []
    before: tuple[object, ...] = ()
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in keys]
        begin = 0
        for row, values in enumerate(zip(*columns, strict=True)):
            if values != before:
                if group or row > begin:
                    yield pa.Table.from_batches([*group, batch.slice(begin, row - begin)])
                group, begin, before = [], row, values
        if len(batch):
            group.append(batch.slice(begin))
    if group:
        yield pa.Table.from_batches(group)
