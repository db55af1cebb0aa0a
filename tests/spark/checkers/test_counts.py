"""Counts of findings, the groups that blame tells of, and examples: against a few lines of plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.evidence import counts as counting
from checkers.evidence.counts import EXAMPLES_PER_CLASS, count_findings
from checkers.evidence.findings import FINDINGS
from checkers.journals.views import Scratch
from checkers.judgement.summary import (
    ALLOWED_CLASSES,
    MOST_SENTENCES,
    OUTPUT_CLASSES,
    READER_CLASSES,
    BlameGroup,
    FindingCounts,
)
from harness.model.fault_times import BETWEEN_NAMES, fault_times
from harness.model.finding_class import FindingClass
from harness.model.result import Example
from harness.model.run import FinalRead
from tests.support.builders.frames import frame
from tests.support.history import FINISHED, Row, bounds, ns, run_meta, window

pytestmark = pytest.mark.spark

WINDOWS = (window("a", 1, 5), window("b", 4, 9), window("c", 12, None))
ELSEWHERE = bounds(1, leader=1).model_copy(update={"topic": "another"})
META = run_meta(
    windows=WINDOWS,
    final_read=FinalRead(
        complete=True,
        bounds=(bounds(0, leader=1), bounds(1, leader=2), ELSEWHERE),
        finished_ns=ns(FINISHED),
    ),
)
LEADERS = {0: 1, 1: 2}
CLASSES = ("lost", "duplicate", "vanished", "skipped", "diverged", "recovered", "reprocessed")
CELL = ("finding", "producer", "partition", "step", "windows")


def findings(number: int, seed: int) -> list[Row]:
    draw = random.Random(seed)
    rows = []
    for _ in range(number):
        sent = draw.choice([None, *range(10)])
        rows.append(
            {
                "finding": draw.choice(CLASSES),
                "producer": draw.choice([None, 0, 1]),
                "seq": draw.choice([None, 0, 1, 2]),
                "partition": draw.choice([None, 0, 1]),
                "step": draw.choice([None, 0, 1]),
                "sent_ns": ns(sent),
                "closed_ns": None if sent is None or draw.random() < 0.2 else ns(sent + draw.randrange(9)),
                "offsets": draw.choice([[], [1], [1, 2], [7]]),
                "copies": draw.choice([0, 1, 2, 3]),
                "place": draw.choice([None, "tail", "unknown"]),
                "held_by": draw.choice([None, [], [1], [1, 2]]),
                "windows": draw.choice(["", "a", "a + b"]),
                "detail": draw.choice(["x", "y"]),
                "reader": draw.choice([None, "r"]),
                "count": draw.choice([None, 1, 5]),
                "acked_by": draw.choice([None, 1]),
                "acked_epoch": draw.choice([None, 4]),
                "replaced_epoch": draw.choice([None, 5]),
                "reports": draw.choice([None, None, 2]),
                "true_reports": draw.choice([None, 1]),
                "checkpoint": draw.choice([None, 8]),
                "error": None,
                "outcome": draw.choice(["acked", "indeterminate", None]),
                "acked_offset": None,
                "key": None,
                "epochs": 1,
                "txn": None,
                "cycle": draw.choice([None, ["0/1 wr t-0@1"]]),
            }
        )
    return rows


Count = Callable[[list[Row]], FindingCounts]


@pytest.fixture(scope="module")
def counted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Count:
    """counted(findings) -> the counts of them."""

    def count(rows: list[Row]) -> FindingCounts:
        scratch = Scratch(spark, tmp_path_factory.mktemp("counts"))
        return count_findings(frame(spark, rows, FINDINGS), META, scratch)

    return count


def total_of(row: Row) -> tuple[Any, ...]:
    held = row["finding"] == "lost" and LEADERS.get(row["partition"]) in (row["held_by"] or ())
    return row["finding"], row["place"], row["step"], held, doubt_of(row)


def doubt_of(row: Row) -> str | None:
    if row["reports"] is None:
        return None
    return "doubtful" if row["true_reports"] is None else "false"


def blame_of(row: Row) -> BlameGroup:
    ended, during, later = "", row["windows"], ""
    sent, closed = row["sent_ns"], row["closed_ns"]
    if closed is not None and row["finding"] in ("lost", "vanished"):
        times = fault_times(WINDOWS, sent, closed)
        later = BETWEEN_NAMES.join(times.later)
        if row["finding"] == "lost":
            ended, during = BETWEEN_NAMES.join(times.ended), BETWEEN_NAMES.join(times.open)
        else:
            overlap = (set(times.ended) | set(times.open)) - set(times.later)
            during = BETWEEN_NAMES.join(one.name for one in WINDOWS if one.name in overlap)
    known = row | {"ended": ended, "during": during, "later": later, "same_offset": doubt_of(row)}
    known["reader"] = row["reader"] if row["finding"] in (*READER_CLASSES, *OUTPUT_CLASSES) else None
    return BlameGroup(*(known[name] for name in BlameGroup._fields))


def largest_first(numbers: Counter[Any]) -> list[tuple[Any, int]]:
    """Ties in the order of the columns, null first."""
    return sorted(
        numbers.items(),
        key=lambda one: (-one[1], *((part is not None, part if part is not None else 0) for part in one[0])),
    )


def rank(row: Row) -> tuple[Any, ...]:
    """Most copies first, then the most deliveries, the earliest sent, and a fixed order of the others."""
    most = 2**63
    down = [most if row[name] is None else -row[name] for name in ("copies", "count")]
    sent = most if row["sent_ns"] is None else row["sent_ns"]
    rest = [(row[name] is not None, row[name] or 0) for name in ("producer", "seq", "partition")]
    return (*down, sent, *rest, tuple(row["offsets"]), row["detail"])


@pytest.mark.parametrize("seed", range(6))
def test_totals_cells_and_blame_are_those_of_plain_python(counted: Count, seed: int) -> None:
    rows = findings(300, seed)
    found = counted(rows)
    assert found.totals == Counter(map(total_of, rows))
    cells = Counter(tuple(row[name] for name in CELL) for row in rows)
    assert found.count_rows == largest_first(cells)
    blamed = Counter(blame_of(row) for row in rows if row["finding"] not in ALLOWED_CLASSES)
    assert dict(found.blame_groups) == dict(largest_first(blamed)[:MOST_SENTENCES])
    open_end = (row for row in rows if row["outcome"] == "indeterminate" and row["copies"] > 0)
    assert found.indeterminate_present == sum(row["finding"] not in OUTPUT_CLASSES for row in open_end)
    assert found.extra_copies == sum(row["copies"] - 1 for row in rows if row["finding"] == "duplicate")


def test_blame_keeps_the_largest_and_ties_in_a_fixed_order(
    counted: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MOST_SENTENCES", 9)
    rows = findings(150, 20)
    blamed = largest_first(Counter(blame_of(row) for row in rows if row["finding"] not in ALLOWED_CLASSES))
    assert blamed[8][1] == blamed[9][1], "the limit must fall among groups of one size"
    for order in (rows, rows[::-1]):
        assert dict(counted(order).blame_groups) == dict(blamed[:9])


def test_cells_are_limited_and_totals_are_not(counted: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_COUNT_ROWS", 40)
    rows = findings(300, 21)
    cells = largest_first(Counter(tuple(row[name] for name in CELL) for row in rows))
    assert cells[39][1] == cells[40][1], "the limit must fall among cells of one size"
    for order in (rows, rows[::-1], random.Random(1).sample(rows, len(rows))):
        found = counted(order)
        assert found.count_rows == cells[:40]
        assert sum(found.totals.values()) == 300


@pytest.mark.parametrize("seed", range(4))
def test_examples_are_the_first_of_each_class_by_the_whole_order(counted: Count, seed: int) -> None:
    rows = findings(300, 100 + seed)
    found = counted(rows).examples
    order = [finding.value for finding in FindingClass]
    assert [one["finding"] for one in found] == sorted((one["finding"] for one in found), key=order.index)
    for name in CLASSES:
        firsts = sorted((row for row in rows if row["finding"] == name), key=rank)[:EXAMPLES_PER_CLASS]
        mine = [one for one in found if one["finding"] == name]
        assert list(map(rank, mine)) == list(map(rank, firsts)), name
        for one in mine:
            shown = {field: one[field] for field in Example.model_fields}
            assert shown in [{field: row.get(field) for field in Example.model_fields} for row in rows]


def test_of_nothing_nothing_is_counted(counted: Count) -> None:
    assert counted([]) == FindingCounts()
