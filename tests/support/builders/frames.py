"""Rows of a journal as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from checkers.sql import ddl
from tests.support.history import Row


def frame(spark: SparkSession, rows: Iterable[Row], schema: pa.Schema) -> DataFrame:
    """The rows, also if there are none. As in a file that an engine reads, any column may be null."""
    schema = pa.schema([field.with_nullable(True) for field in schema])
    table = pa.Table.from_pylist(list(rows), schema=schema)
    return spark.createDataFrame(table if table.num_rows else [], None if table.num_rows else ddl(schema))
