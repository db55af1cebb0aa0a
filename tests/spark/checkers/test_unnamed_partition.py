"""Sends of clients that do not say which partition they chose: no sentence has a partition -1."""

from __future__ import annotations

import pytest

from harness.model.run import ReaderInfo
from harness.report.arm_tables import counts, examples
from harness.report.arms_table import example_lines
from tests.support.history import Check, History, run_meta

pytestmark = pytest.mark.spark

UNNAMED = "a partition that the client did not name"


def test_every_sentence_says_that_the_client_named_none(check: Check) -> None:
    history = History().send(0, partition=-1).send(1, at=5, partition=-1).send(2, "unconfirmed", partition=-1)
    history.send(3, "indeterminate", partition=-1).give(3, at=8)
    # Controls: a partition that was named, and a record that tells where it is.
    history.send(4, at=9).send(5, "indeterminate", partition=-1, error="timeout").read(5, at=3)
    meta = run_meta(readers=(ReaderInfo(name="live"),))
    summary, rows = check(history, meta=meta)
    assert {row["seq"]: row["detail"] for row in rows} == {
        0: f"acknowledged without an offset in {UNNAMED}; not in the log",
        1: f"acknowledged at offset 5 of {UNNAMED}; not in the log",
        2: f"sent to {UNNAMED} under acks=0, not in the log",
        3: f"indeterminate, not in the log of {UNNAMED}; live reader live had got it at offset 8",
        4: "acknowledged at offset 9 of t-0; not in the log",
        5: "indeterminate (timeout), and it is in t-0",
    }
    assert f"2 lost: sent in write to {UNNAMED}, not in the log" in summary.blame
    assert "1 lost: sent in write to partition 0, not in the log" in summary.blame
    pages = [*example_lines(summary, meta), *map(str, counts(summary, meta).rows)]
    pages += map(str, examples(summary, meta).rows)
    assert not [line for line in pages if "-1" in line]
    assert f"lost: producer 0, seq 0, {UNNAMED}: " in "".join(pages)
    assert [cells[1] for cells in counts(summary, meta).rows if cells[0] == "lost"] == [
        "not named by the client",
        "0",
    ]
