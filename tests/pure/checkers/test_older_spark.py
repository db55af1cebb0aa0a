"""What is written for PySpark 3.5 gives the same as the methods of PySpark 4, and older ones are refused."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from checkers.older_spark import apply_in_arrow, arrow_table, release_of, require_spark, tables_of_groups
from harness.model.errors import CheckError
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

SCHEMA = pa.schema({"group": pa.string(), "number": pa.int64(), "value": pa.int64()})
keys = st.tuples(st.none() | st.sampled_from("ab"), st.none() | st.integers(0, 2))


class Session:
    """A session that counts how often it was asked for its version."""

    def __init__(self, version: str) -> None:
        self._version, self.asked = version, 0

    @property
    def version(self) -> str:
        self.asked += 1
        return self._version


@pytest.mark.parametrize("version", ["3.4.4", "3.3.0-amzn-1", "2.4"])
def test_an_older_server_is_refused_by_its_version(version: str) -> None:
    with pytest.raises(CheckError, match="lacks functions") as caught:
        require_spark(cast("SparkSession", Session(version)))
    assert (caught.value.expected, caught.value.found) == ("Spark 3.5 or later", f"Spark {version}")
    assert caught.value.exit_code == 3


def test_an_older_client_is_refused_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.older_spark.pyspark_version", "3.4.1")
    with pytest.raises(CheckError) as caught:
        require_spark(cast("SparkSession", Session("4.0.0")))
    assert (caught.value.expected, caught.value.found) == ("PySpark 3.5 or later", "PySpark 3.4.1")


@pytest.mark.parametrize("version", ["3.5.0", "3.5.1-amzn-1", "4.3.0", "5.0.0-preview1", "10.0"])
def test_others_are_taken_and_asked_once(version: str) -> None:
    session = Session(version)
    require_spark(cast("SparkSession", session))
    require_spark(cast("SparkSession", session))
    assert session.asked == 1


def test_a_release_is_two_numbers() -> None:
    assert [release_of(text) for text in ("3.5.1-amzn-1", "4.0.0.dev2", "15")] == [(3, 5), (4, 0), (15,)]


@given(st.lists(st.tuples(keys, st.integers(1, 4)), max_size=8), st.integers(1, 3))
def test_groups_are_told_apart_however_their_rows_come(runs: list[tuple[Any, int]], size: int) -> None:
    ordered = sorted(runs, key=lambda run: repr(run[0]))
    rows = [(*key, number) for key, count in ordered for number in range(count)]
    table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)
    groups = tables_of_groups(table.to_batches(max_chunksize=size), ("group", "number"))
    found = [[tuple(row.values()) for row in group.to_pylist()] for group in groups]
    assert found == [list(group) for _, group in groupby(rows, key=lambda row: row[:2])]


def test_no_rows_have_no_group() -> None:
    assert list(tables_of_groups([], ("group",))) == []
    assert list(tables_of_groups([pa.RecordBatch.from_pylist([], schema=SCHEMA)], ("group",))) == []


def test_no_method_is_taken_from_the_class_of_dataframes() -> None:
    """In PySpark 3.5 that class is the classic one, which those of Spark Connect are not of."""
    taken = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "checkers").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "DataFrame"
    ]
    assert taken == [], "call `checkers.sql.union`, or the method of a value"


class Rows:
    """A DataFrame of PySpark 3.5: rows of one partition, and no `toArrow`."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.steps = table, list[str]()

    def groupBy(self, *_names: str) -> object:
        return object()

    def repartition(self, *names: str) -> Rows:
        self.steps.append(f"repartition {names}")
        return self

    def sortWithinPartitions(self, *names: str) -> Rows:
        self.steps.append(f"sort {names}")
        self.table = self.table.sort_by([(name, "ascending") for name in names])
        return self

    def mapInArrow(
        self, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], columns: str
    ) -> Rows:
        self.steps.append(columns)
        return Rows(pa.Table.from_batches(function(iter(self.table.to_batches(max_chunksize=2)))))

    def _collect_as_arrow(self) -> list[pa.RecordBatch]:
        return self.table.to_batches(max_chunksize=2)


def test_each_group_is_passed_whole_where_spark_cannot_do_so_itself() -> None:
    numbers = {"key": ["b", "a", "b", "a", "b"], "value": [1, 2, 3, 2**62 + 1, None]}
    rows = Rows(pa.table(numbers))

    def summed(table: pa.Table) -> pa.Table:
        values = [value for value in table["value"].to_pylist() if value is not None]
        return pa.table({"key": table["key"][:1], "sum": [sum(values)]})

    found = apply_in_arrow(cast("DataFrame", rows), ["key"], summed, "key string, sum bigint")
    assert rows.steps == ["repartition ('key',)", "sort ('key',)", "key string, sum bigint"]
    assert arrow_table(found).to_pylist() == [{"key": "a", "sum": 2**62 + 3}, {"key": "b", "sum": 4}]


def test_rows_of_a_connect_session_come_from_its_client() -> None:
    table = pa.table({"a": [1]})

    class Client:
        def to_table(self, plan: str) -> tuple[pa.Table, None]:
            assert plan == "plan of client"
            return table, None

    class Plan:
        def to_proto(self, client: Client) -> str:
            return f"plan of {type(client).__name__.lower()}"

    class Remote:
        def __init__(self) -> None:
            self._plan, self.client = Plan(), Client()
            self.sparkSession = self

    assert arrow_table(cast("DataFrame", Remote())) is table
