"""What a line about one finding says of the faults around its acknowledgement."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.result import Example, FindingClass
from harness.report.table import example_lines, faults_of
from tests.support.builders.summaries import summary_with
from tests.support.history import ns, run_meta, window

pytestmark = pytest.mark.pure

META = run_meta(
    windows=(
        window("cut-1", 0, 9),
        window("pause-1", 9, 11),
        window("kill-1", 10.000000001, 20),
        window("kill-2", 30, None),
    )
)


def _example(**changes: Any) -> Example:
    fields: dict[str, Any] = {
        "finding": FindingClass.LOST,
        "producer": 0,
        "seq": 3,
        "partition": 1,
        "offsets": (),
        "acked_offset": 7,
        "outcome": "acked",
        "sent_ns": ns(9.5),
        "closed_ns": ns(10),
        "error": None,
        "windows": "pause-1 + kill-1 + kill-2",
        "held_by": (),
        "detail": "acknowledged at offset 7 of t-1; not in the log",
    }
    return Example.model_validate(fields | changes)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "open at the acknowledgement, and begun after it": (
        {},
        "acknowledged during pause-1, gone after kill-1 + kill-2",
    ),
    "another ended between send and acknowledgement": (
        {"sent_ns": ns(8)},
        "acknowledged after cut-1 and during pause-1, gone after kill-1 + kill-2",
    ),
    "acknowledged 1 ns later": (
        {"closed_ns": ns(10.000000001)},
        "acknowledged during pause-1 + kill-1, gone after kill-2",
    ),
    "none was open": ({"sent_ns": ns(25), "closed_ns": ns(26)}, "gone after kill-2"),
    "none began later": ({"sent_ns": ns(21), "closed_ns": ns(30)}, "acknowledged during kill-2"),
    "present, not committed": (
        {"offsets": (7,), "sent_ns": ns(25), "closed_ns": ns(26)},
        "missing after kill-2",
    ),
    "vanished": (
        {"finding": FindingClass.VANISHED, "sent_ns": ns(8)},
        "during cut-1 + pause-1, gone after kill-1 + kill-2",
    ),
    "vanished without a report": (
        {"finding": FindingClass.VANISHED, "closed_ns": None},
        "during pause-1 + kill-1 + kill-2",
    ),
    "no loss: between send and report": (
        {"finding": FindingClass.DUPLICATE, "windows": "cut-1 + pause-1"},
        "during cut-1 + pause-1",
    ),
    "no loss, no fault": ({"finding": FindingClass.DUPLICATE, "windows": ""}, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_faults_of_one_finding(name: str) -> None:
    changes, words = CASES[name]
    assert faults_of(_example(**changes), META) == words


def test_the_line_of_an_example_ends_with_its_faults() -> None:
    summary = summary_with(examples=(_example(),))
    assert example_lines(summary, META) == [
        "lost: producer 0, seq 3, partition 1: acknowledged at offset 7 of t-1; not in the log, "
        "acknowledged during pause-1, gone after kill-1 + kill-2"
    ]
    assert example_lines(summary, run_meta()) == [
        "lost: producer 0, seq 3, partition 1: acknowledged at offset 7 of t-1; not in the log"
    ]
