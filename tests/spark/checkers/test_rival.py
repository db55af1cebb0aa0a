"""What the check says of a producer whose transactional.id is taken, and of Kafka that does not fence it."""

from __future__ import annotations

import pytest

from checkers.judgement.judge import judge
from harness.model.result import VerdictWord
from tests.support.history import Check, History, run_meta

pytestmark = pytest.mark.spark


def met(outcome: str = "aborted") -> History:
    """Producer 0 sends seq 0, producer 1 takes over and commits its own, and producer 0 sends seq 1."""
    history = History().txn(0, outcome).txn(0, producer=1)
    history.send(0, at=0, txn=0).read(0, at=0)
    history.send(1, "indeterminate", txn=0, error="INVALID_PRODUCER_EPOCH")
    return (
        history.send(0, at=2, producer=1, txn=0).read(0, at=2, producer=1).read_committed(0, at=2, producer=1)
    )


@pytest.mark.parametrize(
    ("history", "found", "verdict"),
    [
        (met(), [], VerdictWord.VALID),
        (met().read(1, at=4), [(0, 1, "recovered")], VerdictWord.VALID),
        (met().read_committed(0, at=0), [(0, 0, "aborted_read")], VerdictWord.INVALID),
        (met().read(1, at=4).read_committed(1, at=4), [(0, 1, "aborted_read")], VerdictWord.INVALID),
        (met("committed"), [(0, 0, "lost")], VerdictWord.INVALID),
    ],
    ids=[
        "fenced",
        "a late send is in the log, not committed",
        "what came before is committed",
        "what came after is committed",
        "the commit is let through, and nothing is committed",
    ],
)
def test_sends_of_both_producers(
    check: Check, history: History, found: list[tuple[int, int, str]], verdict: VerdictWord
) -> None:
    meta = run_meta(transactional=True)
    summary, rows = check(history, meta=meta)
    assert [(row["producer"], row["seq"], row["finding"]) for row in rows] == found
    assert judge(meta, summary).verdict is verdict
