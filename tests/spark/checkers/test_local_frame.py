"""A few numbers that the driver knows, as a DataFrame."""

from __future__ import annotations

import pytest
from py4j.protocol import MEMORY_COMMAND_NAME
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from checkers.journals.frames import local_frame

pytestmark = pytest.mark.spark

SCHEMA = StructType([StructField("partition", IntegerType()), StructField("end offset", LongType())])


@pytest.mark.parametrize("rows", [[], [(0, 2**63 - 1)], [(1, -(2**63)), (-1, 0), (1, 2**53 + 1)]])
def test_rows_come_back_as_they_were(spark: SparkSession, rows: list[tuple[int, int]]) -> None:
    frame = local_frame(spark, rows, SCHEMA)
    assert [tuple(row) for row in frame.collect()] == rows
    assert frame.schema.names == SCHEMA.names
    assert [field.dataType for field in frame.schema] == [field.dataType for field in SCHEMA]


def test_many_rows_cost_no_more_calls_than_one(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each expression is a call to the JVM: for 15,000 spans of 5,000 partitions they took ten minutes."""
    calls = 0
    client = type(spark.sparkContext._gateway._gateway_client)  # type: ignore[union-attr]
    send = client.send_command

    def counted(it: object, command: str, *arguments: object, **more: object) -> object:
        nonlocal calls
        # Finalizers of what other tests left come whenever Python's collector runs, hundreds at a time.
        calls += not command.startswith(MEMORY_COMMAND_NAME)
        return send(it, command, *arguments, **more)

    monkeypatch.setattr(client, "send_command", counted)
    local_frame(spark, [(0, 0)], SCHEMA)
    one, calls = calls, 0
    many = local_frame(spark, [(number, number) for number in range(15_000)], SCHEMA)
    assert 0 < calls <= one
    assert many.count() == 15_000
