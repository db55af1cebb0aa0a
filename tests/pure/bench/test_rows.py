"""Rows of the benchmarks: medians, goals, and what became slower."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from tests.bench.rows import Row, load, markdown, save, slower, table

pytestmark = pytest.mark.pure


def test_goals_are_bounds_of_the_median_or_of_the_ratio() -> None:
    row = Row.of("boot", "s", [5.0, 3.0, 4.0], goal=4.0)
    assert (row.ours, row.least, row.most, row.met) == (4.0, 3.0, 5.0, True)
    assert Row.of("boot", "s", [4.1], goal=4.0).met is False
    assert Row.of("boot", "s", [4.1]).met is None
    rate = Row.of(
        "sends", "1/s", [210.0], peer="perf-test", theirs=200.0, goal=1.05, relative=True, more_is_better=True
    )
    assert (rate.ratio, rate.met, rate.goal_text) == (1.05, True, ">= 1.05 x")
    assert (
        Row.of("sends", "1/s", [209.0], theirs=200.0, goal=1.05, relative=True, more_is_better=True).met
        is False
    )


def test_slower_is_worse_than_every_repeat_of_the_last_time(tmp_path: Path) -> None:
    before = [
        Row.of("boot", "s", [3.0, 4.0, 5.0]),
        Row.of("sends", "1/s", [90.0, 100.0], more_is_better=True),
    ]
    save(before, tmp_path / "last.json")
    assert load(tmp_path / "last.json") == before
    assert load(tmp_path / "none.json") == []
    assert slower([Row.of("boot", "s", [5.0]), Row.of("new", "s", [9.0])], before) == []
    assert slower([Row.of("sends", "1/s", [90.0], more_is_better=True)], before) == []
    found = slower([Row.of("boot", "s", [5.1]), Row.of("sends", "1/s", [89.0], more_is_better=True)], before)
    assert found == [
        "slower: boot: 5.10 s, last time 4.00 (3.00 to 5.00)",
        "slower: sends: 89.00 1/s, last time 95.00 (90.00 to 100)",
    ]


def test_one_line_per_row() -> None:
    rows = [
        Row.of("boot", "s", [3.0], peer="x", theirs=6.0, goal=4.0, cpu=2.5),
        Row.of("sends", "1/s", [123456.0]),
    ]
    assert markdown(rows).splitlines()[2:] == [
        "| boot | 0.50 x | <= 4.00 | yes | 3.00 | s | 3.00 to 3.00 | 2.5 | x | 6.00 |",
        "| sends |  |  |  | 123,456 | 1/s | 123,456 to 123,456 |  |  |  |",
    ]
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table(rows))
    assert "123,456" in console.export_text()
