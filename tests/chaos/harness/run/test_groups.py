"""Consumer groups on real brokers while their coordinator dies: no commit is lost, and answers tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.cluster.managed import ManagedCluster
from harness.model.journal import COMMITS_DIR, OFFSETS_DIR
from harness.model.journal_reader import journal_rows
from harness.model.result import FindingClass, VerdictWord
from harness.run.executor import Options, execute, run_on
from harness.spec.experiment import Experiment
from harness.spec.files import load

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

OF_GROUPS = {
    FindingClass.COMMIT_LOST,
    FindingClass.COMMIT_AHEAD,
    FindingClass.FOREIGN_COMMIT,
    FindingClass.TWO_OWNERS,
}


def experiment(protocol: dict[str, Any], *, killed: bool) -> Experiment:
    kill = {"fault": {"kill": {"target": {"coordinator": {"group": "workers"}}}}, "at": 2, "for": 5}
    reader = {"name": "work", "group": "workers", "members": 2, "commits": "manual", "commit_every": 0.3}
    return Experiment.model_validate(
        {
            "name": "groups",
            "title": "a group and its coordinator",
            "topic": {"partitions": 4},
            "workload": {"rate": 200},
            "readers": [{**reader, "reset": "earliest", **protocol}],
            "steps": [{"write": {"name": "w", "seconds": 10, "faults": [kill] if killed else []}}],
            "arms": [{"name": "one", "producer": {"acks": "all", "enable.idempotence": True}}],
        }
    )


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "control"])
@pytest.mark.parametrize(
    "protocol",
    [
        {"extra": {"session.timeout.ms": 6000}},
        {"assignor": "cooperative-sticky", "static": True, "extra": {"session.timeout.ms": 6000}},
        {"protocol": "consumer"},
    ],
    ids=["eager", "static", "consumer"],
)
def test_commits_outlive_their_coordinator(
    cluster: ManagedCluster,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    protocol: dict[str, Any],
    killed: bool,
) -> None:
    folder, result = run_on(cluster, experiment(protocol, killed=killed), Options(results=tmp_path, seed=3))
    arm = result.arms[0]
    assert arm.summary is not None
    assert arm.summary.problems == ()
    assert not OF_GROUPS & arm.summary.findings.keys(), arm.judgement
    fenced = killed and "static" in protocol and "Static consumer fenced" in caplog.text
    if fenced and arm.judgement.verdict is VerdictWord.UNKNOWN:
        # A new coordinator may fence static members, which is fatal to their clients: they read nothing more.
        return
    assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement
    run = folder / arm.folder
    commits = list(journal_rows(run / COMMITS_DIR, ["partition", "offset", "error"]))
    columns = ["partition", "offset", "error", "source", "broker", "at_ns"]
    answers = list(journal_rows(run / OFFSETS_DIR, columns))
    fetched = [row for row in answers if row["source"] == "fetch" and row["error"] is None]
    for partition in range(4):
        best = max(row["offset"] for row in commits if row["partition"] == partition and row["error"] is None)
        here = [row for row in fetched if row["partition"] == partition]
        assert max(here, key=lambda row: row["at_ns"])["offset"] == best
        for broker in (1, 2, 3):
            logged = [
                row["offset"]
                for row in answers
                if row["source"] == "logged" and (row["partition"], row["broker"]) == (partition, broker)
            ]
            assert logged, f"broker {broker} has a file of the group"
            assert logged[-1] == best
    # Without a fault it may move too: leaders return to their preferred brokers after an earlier test.
    assert not killed or len({row["broker"] for row in fetched}) > 1, "the coordinator moved"


def test_a_new_coordinator_answers_from_before_the_last_commits(tmp_path: Path) -> None:
    ((folder, result),) = execute([load("stale-coordinator")], Options(results=tmp_path, seed=3))
    (arm,) = result.arms
    assert arm.judgement.as_promised, arm.judgement
    answers = journal_rows(
        folder / arm.folder / OFFSETS_DIR, ["group", "offset", "error", "source", "asked_ns", "broker"]
    )
    rows = sorted(answers, key=lambda row: row["asked_ns"])
    fetched = [row for row in rows if row["source"] == "fetch" and row["error"] is None]
    stale = {row["group"] for row in fetched if row["offset"] is None}
    # Four or five of them were.
    assert any(name.startswith("late-cut-") for name in stale), stale
    # Those who wait for what is not committed yet, and earlier commits, are the controls.
    assert {name.rpartition("-")[0] for name in stale} <= {"late-cut", "late"}
    last = {row["group"]: row["offset"] for row in fetched}
    assert set(last.values()) == {50}
