"""What findings look like on real brokers: examples/findings/, examples/orders/planted.yaml, and what no
YAML can do.

`--results FOLDER` keeps what they leave, of which docs/reference/findings.md takes its examples
(`python -m harness.cli.docgen findings --take FOLDER`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.journal import SendOutcome
from harness.run.executor import Options, execute, run_on
from harness.spec.experiment_files import load, parse
from tests.support.paths import ROOT
from workloads.records.reader.live_reader import LiveReader
from workloads.records.record.identity import ValueBuilder

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

EXAMPLES = [
    *sorted((ROOT / "examples" / "findings").glob("*.yaml")),
    ROOT / "examples" / "orders" / "planted.yaml",
]
PLAIN = """
name: phantom
title: Somebody else writes with a producer's identity
topic: {partitions: 1}
steps:
  - write: {name: w, records: 100}
arms:
  - {name: second-writer, producer: {acks: all}, promise: {phantom: 1}}
  - {name: alone, producer: {acks: all}}
"""

FOREIGN = """
name: foreign_commit
title: A member commits offsets of a partition that another one owns
topic: {partitions: 2}
workload: {producers: 1, rate: 40}
readers:
  - {name: app, group: app-foreign, members: 2, commits: manual, commit_every: 0.3, reset: earliest}
steps:
  # Both members must own a partition before it ends. The first rebalance takes 3 s; with `protocol: consumer`
  # one gives its partition up, and the other gets it, at their heartbeats, which are 5 s apart.
  - write: {name: w, seconds: 25}
arms:
  - {name: classic, producer: {acks: all}, promise: {foreign_commit: ">= 1"}}
  - name: consumer
    producer: {acks: all}
    readers:
      - {name: app, group: app-foreign-848, members: 2, commits: manual, commit_every: 0.3, reset: earliest,
         protocol: consumer}
    promise: {foreign_commit: ">= 1"}
"""

REFUSED = """
name: rejected_present
title: What the brokers refuse is written to the topic by another way
topic: {assignment: [[1, 2, 3]], config: {min.insync.replicas: 3}}
steps:
  - inject: {kill: {target: {broker: 3}}}
  - wait: {isr: 2, within: 60}
  # One after the other, and each once: a refusal is the answer to the only attempt if it comes before the
  # client could have sent again. A busy broker takes longer than the usual 100 ms.
  - write: {name: w, records: 20}
  - heal:
arms:
  - name: fallback
    producer: {acks: all, retries: 0, extra: {retry.backoff.ms: 20000, retry.backoff.max.ms: 20000}}
    promise: {rejected_present: 5}
  - name: alone
    producer: {acks: all, retries: 0, extra: {retry.backoff.ms: 20000, retry.backoff.max.ms: 20000}}
"""


def meddle(reader: LiveReader) -> None:
    """Commit the first offset of the other member's partition, as a mistaken application does."""
    others = {0, 1} - reader._assignment.partitions
    if len(others) == 1:
        asked = time.time_ns()
        try:
            answered = reader._consumer.commit(
                offsets=[TopicPartition(reader._topic, others.pop(), 0)], asynchronous=False
            )
        except KafkaException as error:
            if error.args[0].code() != KafkaError.STALE_MEMBER_EPOCH:
                raise
            # The group rebalances at this very moment; the next commit meddles again.
            return
        reader._journal.committed(None, answered, asked=lambda _: asked)


@pytest.fixture
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where results go: a folder that was asked for, or one that is thrown away."""
    asked = request.config.getoption("--findings")
    return tmp_path if asked is None else Path(asked).resolve()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_shows_what_it_promises(path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As the command line is used: in the folder of the checkout, with this Python as `python`.
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    options = Options(results=kept, seed=3)
    ((_, result),) = execute([load(str(path))], options)
    for arm in result.arms:
        assert arm.judgement.as_promised, (arm.meta.arm, arm.judgement)


def somebody_else(cluster: ManagedCluster, seqs: Iterable[int]) -> Callable[[str, str], None]:
    """What writes these records of producer 0 into the topic of every arm but `alone`, before it begins."""
    bootstrap = cluster.bootstrap

    def intrude(arm: str, topic: str) -> None:
        if arm == "alone":
            return
        run_id = int(topic.rpartition("-")[2], 16)
        client = Producer({"bootstrap.servers": bootstrap})
        for seq in seqs:
            client.produce(topic, ValueBuilder(run_id, 0, 100, 1)(seq), partition=0)
        assert client.flush(120) == 0
        client.close()

    return intrude


def test_a_record_that_no_producer_of_ours_sent_is_a_phantom(cluster: ManagedCluster, kept: Path) -> None:
    options = Options(results=kept, seed=3, started=somebody_else(cluster, [1_000_000]))
    _, result = run_on(cluster, parse(PLAIN, "phantom"), options)
    intruded, alone = result.arms
    assert intruded.judgement.as_promised, intruded.judgement
    assert intruded.summary is not None
    assert intruded.summary.count(FindingClass.PHANTOM) == 1
    assert alone.summary is not None
    assert alone.summary.findings == {}


def test_what_was_refused_and_written_by_another_way_is_rejected_present(
    cluster: ManagedCluster, kept: Path
) -> None:
    options = Options(results=kept, seed=3, started=somebody_else(cluster, range(5)))
    _, result = run_on(cluster, parse(REFUSED, "rejected_present"), options)
    intruded, alone = result.arms
    assert intruded.judgement.as_promised, intruded.judgement
    assert alone.summary is not None
    assert alone.summary.outcomes == {SendOutcome.REJECTED: 20}
    assert alone.summary.findings == {}


def test_brokers_accept_a_commit_of_a_member_that_owns_another_partition(
    cluster: ManagedCluster, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = LiveReader._commit

    def careless(reader: LiveReader, *, wait: bool) -> None:
        commit(reader, wait=wait)
        if reader.name == "app-1" and not wait:
            meddle(reader)

    monkeypatch.setattr(LiveReader, "_commit", careless)
    _, result = run_on(cluster, parse(FOREIGN, "foreign_commit"), Options(results=kept, seed=3))
    for arm in result.arms:
        assert arm.judgement.as_promised, (arm.meta.arm, arm.judgement)
