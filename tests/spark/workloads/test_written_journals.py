"""What our writers write, Spark reads: the encodings of
`workloads.records.journal.parquet_parts.parquet_options`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from harness.model import journal
from workloads.records.journal.parquet_parts import write_atomic

pytestmark = pytest.mark.spark

SCHEMAS = {name: value for name, value in vars(journal).items() if isinstance(value, pa.Schema)}
ROWS = 3000


def value(field: pa.Field, row: int) -> Any:
    if field.nullable and row % 7 == 3:
        return None
    if pa.types.is_int64(field.type):
        return (-1) ** row * (2**62 - row * row)
    if pa.types.is_int32(field.type):
        return row - 5
    if pa.types.is_boolean(field.type):
        return row % 2 == 0
    if pa.types.is_list(field.type):
        return list(range(row % 4))
    return f"{field.name}-{row % 50}" if pa.types.is_string(field.type) else bytes([row % 256])


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_spark_reads_every_journal(name: str, spark: SparkSession, tmp_path: Path) -> None:
    schema = SCHEMAS[name]
    rows = [{field.name: value(field, row) for field in schema} for row in range(ROWS)]
    path = tmp_path / "part-00000.parquet"
    write_atomic(pa.Table.from_pylist(rows, schema=schema), path)
    assert pq.read_table(path).to_pylist() == rows
    found = [row.asDict() for row in spark.read.parquet(str(path)).collect()]
    assert [
        {key: bytes(item) if isinstance(item, bytearray) else item for key, item in row.items()}
        for row in found
    ] == rows
