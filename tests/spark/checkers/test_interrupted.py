"""Runs whose topic was never read: nothing is said of what a read would have shown, all else is."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.judgement.judge import judge
from harness.model.finding_class import BY_ABSENCE, FindingClass
from harness.model.result import ArmResult, VerdictWord
from harness.model.run import FinalRead, ReaderInfo
from harness.report import arms_table
from tests.support.history import Check, History, run_meta

pytestmark = pytest.mark.spark

NEVER_READ = [
    {"final_read": None, "finished": False},
    {"final_read": FinalRead(complete=False, reasons=("the cluster did not settle",)), "finished": True},
]


def interrupted() -> History:
    history = History().send(0, at=0).send(1, "unconfirmed").send(2, "indeterminate").send(3, "rejected")
    return history.txn(0, "committed").send(4, at=1, txn=0)


@pytest.mark.parametrize("given", NEVER_READ, ids=["interrupted", "not settled"])
def test_what_was_never_read_is_not_called_lost(check: Check, given: dict[str, Any]) -> None:
    meta = run_meta(**given)
    summary, rows = check(interrupted(), meta=meta)
    assert (rows, summary.findings, summary.blame, summary.examples) == ([], {}, (), ())
    assert summary.outcomes == {"acked": 2, "indeterminate": 1, "rejected": 1, "unconfirmed": 1}
    judgement = judge(meta, summary)
    assert judgement.verdict is VerdictWord.UNKNOWN
    assert not any("lost" in reason or "absent" in reason for reason in judgement.reasons)
    arm = ArmResult(folder="a", meta=meta, summary=summary, judgement=judgement)
    cells = dict(zip(arms_table.COLUMNS, map(str, map(arms_table.text_of, arms_table.row(arm))), strict=True))
    assert (cells["lost"], cells["duplicates"], cells["sent"], cells["acked"]) == ("-", "-", "5", "2 (1)")


def test_the_same_journals_after_a_read_show_the_loss(check: Check) -> None:
    meta = run_meta()
    summary, _ = check(interrupted(), meta=meta)
    assert summary.count(FindingClass.LOST) == 2
    assert set(summary.findings) <= set(BY_ABSENCE)
    arm = ArmResult(folder="a", meta=meta, summary=summary, judgement=judge(meta, summary))
    cells = dict(zip(arms_table.COLUMNS, map(arms_table.text_of, arms_table.row(arm)), strict=True))
    assert cells["lost"] == "2 (1)"


def test_what_live_readers_got_is_told_all_the_same(check: Check) -> None:
    history = interrupted().give(3, at=7).give(9, at=8)
    meta = run_meta(final_read=None, finished=False, readers=(ReaderInfo(name="live"),))
    _, rows = check(history, meta=meta)
    assert {(row["seq"], row["finding"]) for row in rows} == {(3, "rejected_present"), (9, "phantom")}
