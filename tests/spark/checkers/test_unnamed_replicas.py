"""Lost records whose partition the client has not named: a replica's file that holds one tells it."""

from __future__ import annotations

import pytest

from checkers.judgement.judge import judge
from harness.model.result import VerdictWord
from harness.model.run import FinalRead
from tests.support.history import FINISHED, Check, History, bounds, ns, run_meta

pytestmark = pytest.mark.spark

READ = FinalRead(
    complete=True,
    bounds=(bounds(0, leader=1), bounds(1, leader=2)),
    finished_ns=ns(FINISHED),
    replicas_inspected=(1, 2),
)


@pytest.mark.parametrize(
    ("broker", "verdict", "partition"),
    [(None, "invalid", -1), (1, "invalid", 1), (2, "unknown", 1)],
    ids=["in no file", "in a follower's, which leads another partition", "in its leader's"],
)
def test_a_loss_of_an_unnamed_partition(
    check: Check, broker: int | None, verdict: str, partition: int
) -> None:
    history = History().send(0, at=0).read(0, at=0).send(1, partition=-1)
    if broker is not None:
        history.replica(broker, 1, at=7)
        history.replicas[-1]["partition"] = 1
    else:
        history.replica(1, 0)
    meta = run_meta(acks="1", partitions=2, final_read=READ)
    summary, rows = check(history, meta=meta)
    assert [(row["seq"], row["finding"], row["partition"]) for row in rows] == [(1, "lost", partition)]
    assert rows[0]["held_by"] == ([] if broker is None else [broker])
    judgement = judge(meta, summary)
    assert judgement.verdict is VerdictWord(verdict), judgement.reasons
