"""Consumer groups on real brokers while their coordinator dies: no commit is lost, and answers tell."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.group_journal import COMMITS_DIR, OFFSETS_DIR
from harness.model.journal import FINDINGS_DIR
from harness.model.journal_reader import journal_rows
from harness.model.result import VerdictWord
from harness.run.executor import Options, execute, run_on
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import load
from tests.support.paths import ROOT

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

OF_GROUPS = {
    FindingClass.COMMIT_LOST,
    FindingClass.COMMIT_AHEAD,
    FindingClass.FOREIGN_COMMIT,
    FindingClass.TWO_OWNERS,
}


def experiment(protocol: dict[str, Any], *, killed: bool, seconds: int = 10) -> Experiment:
    kill = {"fault": {"kill": {"target": {"coordinator": {"group": "workers"}}}}, "at": 2, "for": 5}
    reader = {"name": "work", "group": "workers", "members": 2, "commits": "manual", "commit_every": 0.3}
    return Experiment.model_validate(
        {
            "name": "groups",
            "title": "a group and its coordinator",
            "topic": {"partitions": 4},
            "workload": {"rate": 200},
            "readers": [{**reader, "reset": "earliest", **protocol}],
            "steps": [{"write": {"name": "w", "seconds": seconds, "faults": [kill] if killed else []}}],
            "arms": [{"name": "one", "producer": {"acks": "all", "enable.idempotence": True}}],
        }
    )


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "control"])
@pytest.mark.parametrize(
    "protocol",
    [
        {"extra": {"session.timeout.ms": 6000}},
        # Longer than the coordinator is away, so that the session of the static member does not end
        # (librdkafka 5585).
        {"assignor": "cooperative-sticky", "static": True, "extra": {"session.timeout.ms": 20_000}},
        {"protocol": "consumer"},
    ],
    ids=["eager", "static", "consumer"],
)
def test_commits_outlive_their_coordinator(
    cluster: ManagedCluster,
    tmp_path: Path,
    protocol: dict[str, Any],
    killed: bool,
) -> None:
    folder, result = run_on(cluster, experiment(protocol, killed=killed), Options(results=tmp_path, seed=3))
    arm = result.arms[0]
    assert arm.summary is not None
    assert arm.summary.problems == ()
    assert not OF_GROUPS & arm.summary.findings.keys(), arm.judgement
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
    # Without a fault it may move too: a broker of a busy machine can miss its session.
    assert not killed or len({row["broker"] for row in fetched}) > 1, "the coordinator moved"


def test_static_members_of_an_earlier_run_are_not_in_the_way(
    cluster: ManagedCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A static member that closes stays in its group until its session ends. Members of the new protocol that
    join before are told that the group does not exist, and end."""
    static = {"assignor": "cooperative-sticky", "static": True}
    for number, protocol in enumerate([static, {"protocol": "consumer"}]):
        caplog.clear()
        _, result = run_on(
            cluster,
            # Long enough for the group to form: the coordinator keeps static members that end while they join
            # for max.poll.interval.ms, and a group with members cannot be deleted.
            experiment(protocol, killed=False),
            Options(results=tmp_path / str(number), seed=3),
        )
        assert result.arms[0].judgement.verdict is VerdictWord.VALID, result.arms[0].judgement
    assert "deleting groups of an earlier run: workers" in caplog.text


def test_a_reader_that_another_one_replaces_is_a_problem_of_the_run(
    cluster: ManagedCluster, tmp_path: Path
) -> None:
    other = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "workers", "group.instance.id": "work-1"}
    )
    topics: list[str] = []
    ended = threading.Event()

    def replace() -> None:
        client = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        # Not before: a member of a group that an earlier run has left would be in the way of this one.
        while not (topics and _is_complete(client, "workers", topics[0])):
            if ended.wait(0.2):
                return
        other.subscribe(topics)
        while not ended.wait(0.1):
            other.poll(0.1)

    thread = threading.Thread(target=replace)
    thread.start()
    options = Options(results=tmp_path, seed=3, started=lambda _, topic: topics.append(topic))
    try:
        _, result = run_on(cluster, experiment({"static": True}, killed=False, seconds=15), options)
    finally:
        ended.set()
        thread.join()
        other.close()
    (arm,) = result.arms
    assert arm.judgement.verdict is VerdictWord.UNKNOWN
    assert [one for one in arm.meta.problems if "work-1 ended early: _FATAL" in one and "fenced" in one]


def _is_complete(client: AdminClient, group: str, topic: str) -> bool:
    """Whether both members of the group have partitions of this topic."""
    try:
        members = client.describe_consumer_groups([group])[group].result().members
    except KafkaException:
        return False
    given = [{place.topic for place in member.assignment.topic_partitions} for member in members]
    return given == [{topic}, {topic}]


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


def test_a_group_that_comes_back_to_the_end_of_the_log_has_skipped_what_was_written(tmp_path: Path) -> None:
    """It owned the partition while that was empty, committed nothing, and left before the first record."""
    case = load(str(ROOT / "tests" / "support" / "cases" / "t4b.yaml"))
    ((_, result),) = execute([case], Options(results=tmp_path, seed=3))
    latest, earliest = result.arms
    assert latest.judgement.verdict is VerdictWord.INVALID, latest.judgement
    assert latest.summary is not None
    assert latest.summary.findings.keys() == {FindingClass.SKIPPED}
    folder = next(tmp_path.glob("*/latest"))
    rows = pq.read_table(folder / FINDINGS_DIR).to_pylist()
    (row,) = [one for one in rows if one["finding"] == "skipped"]
    assert (row["reader"], row["offsets"]) == ("g", [0])
    assert row["count"] >= 300
    assert row["detail"].endswith("(auto.offset.reset=latest)")
    assert earliest.judgement.verdict is VerdictWord.VALID, earliest.judgement
