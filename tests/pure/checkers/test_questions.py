"""What is known to differ between engines is found in a query, and the answers of two are compared."""

from __future__ import annotations

from decimal import Decimal
from importlib.metadata import version

import pyarrow as pa
import pytest

from checkers.questions.comparison import compare_answers
from checkers.questions.differences import (
    DIFFERENCES,
    NAN_IN_FILES,
    SAIL,
    SPARK,
    Difference,
    differences_in,
)
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

PAGE = ROOT / "docs" / "explanation" / "engines.md"
TOLD = [one for one in DIFFERENCES if differences_in(one.example)]


def test_the_page_has_each_row_and_the_versions() -> None:
    text = PAGE.read_text()
    for one in (*DIFFERENCES, NAN_IN_FILES):
        assert one.row() in text
    assert f"Sail {SAIL}" in text
    assert f"Apache Spark {SPARK}" in text
    assert (version("pysail"), version("pyspark")) == (SAIL, SPARK), "measure the rows again"


@pytest.mark.parametrize("one", TOLD, ids=lambda one: one.example[:50])
def test_each_example_is_told(one: Difference) -> None:
    assert differences_in(one.example) == [f"{one.what}: {one.instead}"]


def test_what_is_not_told_is_said_to_be() -> None:
    assert len(TOLD) > len(DIFFERENCES) / 2
    assert all(("; not told |" in one.row()) == (one not in TOLD) for one in DIFFERENCES)


FOUND = [
    ("select * from records where error = 'can''t'", "a quote that is written twice"),
    ('select "a""b"', "a quote that is written twice"),
    ("SELECT SUM( sent_ns ) FROM sends", "a sum of whole numbers"),
    ("select sum(closed_ns - sent_ns) over (order by seq) from sends", "a sum of whole numbers"),
    ("select max_by(error, struct(closed_ns, seq)) from sends", "min, max, min_by"),
    ("select min(named_struct('a', seq)) from sends", "min, max, min_by"),
    ("select 1 from sends where error is not null and cast(error as int) > 1", "a condition does not"),
    ("select 1 from sends where error is not null and error::int > 1", "a condition does not"),
    ("select 1 from a join b on a.n > 0 and b.m % a.n = 0", "a condition does not"),
    ("select approx_percentile(latency_ms, array(0.5, 0.9)) from records", "approximate percentiles"),
    ("select weekday(current_date())", "weekday of a Sunday"),
    (r"select 1 from sends where error rlike '\\d+'", "regular expressions are those of Rust"),
    ("select 1 from sends where error rlike '(?=x)'", "regular expressions are those of Rust"),
    ("select timestampdiff(HOUR, a, b) from t", "datediff and timestampdiff"),
    ("select count(*) from parquet.`a.parquet`", "a column of fractions in a Parquet file"),
]
NOT_FOUND = [
    "select outcome, count(*) from sends group by outcome",
    "select 'sum(x)', \"it's\", '' as nothing from sends -- sum(seq) and 'it''s'",
    "select '' || 'a', 'a' 'b' /* weekday(x) */ from sends",
    "select sum(cast(seq as decimal(38, 0))), sum(cast(seq as double)) from sends",
    "select max(seq), max(length(error)), struct(seq) from sends",
    "select cast(seq as int), 1 / 2 from sends where seq > 1 and partition = 0",
    "select 1 from sends where error is not null and try_cast(error as int) > 1",
    "select seq from sends where error rlike '^[0-9]+'",
    "select datediff(a, b), percentile(latency_ms, 0.5), weekdays from t",
]


@pytest.mark.parametrize(("query", "beginning"), FOUND)
def test_what_differs_is_found(query: str, beginning: str) -> None:
    assert any(one.startswith(beginning) for one in differences_in(query))


@pytest.mark.parametrize("query", NOT_FOUND)
def test_what_does_not_differ_is_not_told(query: str) -> None:
    assert differences_in(query) == []


def test_a_query_that_is_not_finished_ends_the_search() -> None:
    assert differences_in("select sum(seq") != []
    assert differences_in("select 'open") == []
    assert differences_in("") == []


NAMES = ("Apache Spark", "Sail")
ROWS = [(1, 0.1), (2, None), (2, None)]


def table(rows: list[tuple[object, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), ()]
    return pa.table({name: pa.array(column) for name, column in zip("ab", columns, strict=False)})


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (ROWS, "answer the same 3 rows"),
        (ROWS[::-1], "their order differs"),
        ([(1, 0.1 + 1e-15), *ROWS[1:]], "the last digits of fractions differ"),
        ([(Decimal(1), 0.1), (Decimal(2), None), (Decimal(2), None)], "answer the same 3 rows"),
    ],
)
def test_answers_that_are_the_same(other: list[tuple[object, ...]], told: str) -> None:
    found = compare_answers(table(ROWS), table(other), NAMES)
    assert found.same
    assert told in found.lines[0]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (ROWS[:2], "Apache Spark alone: a = 2, b = None"),
        ([*ROWS, (3, 1.0)], "Sail alone: a = 3, b = 1.0"),
        ([(1, 0.1000001), *ROWS[1:]], "Sail alone: a = 1, b = 0.1000001"),
        ([(1, None), *ROWS[1:]], "Sail alone: a = 1, b = None"),
        ([("1", 0.1), ("2", None), ("2", None)], "Sail alone: a = '1', b = 0.1"),
        ([], "Sail 0; 3 are answered by Apache Spark alone"),
        ([(1,), (2,), (2,)], "Apache Spark answers 2 columns, Sail 1"),
    ],
)
def test_answers_that_differ(other: list[tuple[object, ...]], told: str) -> None:
    found = compare_answers(table(ROWS), table(other), NAMES)
    assert not found.same
    assert told in "\n".join(found.lines)


def test_values_that_are_not_equal_to_themselves_and_values_in_lists() -> None:
    nan = pa.table({"x": [float("nan")], "y": [[{"z": 0.1}]]})
    assert compare_answers(nan, nan, NAMES).same
    assert not compare_answers(nan, pa.table({"x": [5.5], "y": [[{"z": 0.1}]]}), NAMES).same
