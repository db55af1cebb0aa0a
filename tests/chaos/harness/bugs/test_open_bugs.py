"""Bugs that are open in current clients: a test that fails here shows that a bug has been fixed.

docs/open-bugs.md describes them; the workarounds of the harness would then no longer be needed.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.polling import wait_until
from harness.spec.cluster import ClusterSpec
from tests.chaos.support.cluster_queries import PATIENCE, await_answers, leader_of
from tests.support.paths import ROOT

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

ALLOWED = 2.0
"""The time-out of the call in seconds."""
STUCK = 20.0
"""Seconds after which the call counts as ignoring its time-out."""


@pytest.fixture
def pair() -> Iterator[ManagedCluster]:
    """Two brokers; the internal topics have one replica each, so that no broker takes over."""
    alone = {
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    with ManagedCluster(ClusterSpec(brokers=2, properties=alone)) as started:
        yield started


def of_broker(cluster: ManagedCluster, broker: int, *, transactional: bool) -> str:
    """A transactional id or a group that this broker coordinates."""
    names = (f"one-{number}" for number in range(100))
    return next(
        name for name in names if cluster.coordinator(name, transactional=transactional, within=30) == broker
    )


def test_offsets_of_a_transaction_wait_longer_than_allowed(pair: ManagedCluster) -> None:
    """librdkafka 5456: send_offsets_to_transaction does not respect its time-out."""
    pair.admin().create("t", partitions=1, replication_factor=1, config={}, assignment=[[1]])
    group = of_broker(pair, 2, transactional=False)
    common = pair.access.properties | {"bootstrap.servers": pair.bootstrap}
    consumer = Consumer(common | {"group.id": group})
    producer = Producer(common | {"transactional.id": of_broker(pair, 1, transactional=True)})
    took: list[float] = []

    def send(allowed: float) -> None:
        producer.begin_transaction()
        producer.produce("t", b"value", partition=0)
        began = time.monotonic()
        try:
            producer.send_offsets_to_transaction(
                [TopicPartition("t", 0, 1)], consumer.consumer_group_metadata(), allowed
            )
        finally:
            took.append(time.monotonic() - began)

    producer.init_transactions(120)
    # The control: with its coordinator there, the call returns.
    send(STUCK)
    producer.commit_transaction(60)
    assert took[0] < STUCK
    # The markers are written after the answer; until then no other transaction accepts offsets.
    time.sleep(3)
    pair.kill(2)

    def not_fenced() -> str | None:
        told = [seen.brokers for seen in pair.view(()).answered()]
        return None if told == [(1,)] else f"{told}"

    # The next transaction finds a group without a coordinator.
    wait_until(not_fenced, what="broker 1 alone is left", seconds=60)
    waiting = threading.Thread(target=send, args=(ALLOWED,), daemon=True)
    waiting.start()
    waiting.join(STUCK)
    stuck = waiting.is_alive()
    # Whether it returns once the coordinator is back differs from run to run.
    pair.start_node(2)
    waiting.join(30)
    print(f"allowed {ALLOWED:g} s, took {took[1:] or 'more than 30 s after the coordinator was back'}")
    assert stuck, f"it came back after {took[1]:.1f} s: is librdkafka 5456 closed?"
    consumer.close()


def script(cluster: ManagedCluster, name: str, arm: str, *options: str) -> subprocess.Popen[str]:
    """A script of examples/open-bugs that asks these brokers; it has asked once, and waits for a line."""
    path = ROOT / "examples" / "open-bugs" / name
    command = [sys.executable, str(path), "--here", "--arm", arm, "--bootstrap", cluster.bootstrap, *options]
    started = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    first = started.stdout.readline()
    assert first.startswith("asked:"), first
    return started


def ended(asking: subprocess.Popen[str]) -> str:
    """Let it go on; what it printed then, or the signal that ended it."""
    output, _ = asking.communicate("\n", timeout=2 * PATIENCE)
    return signal.Signals(-asking.returncode).name if asking.returncode < 0 else output.strip()


def committed_group(cluster: ManagedCluster, topic: str) -> str:
    """A group that has committed; the first one of a cluster waits for the topic of the offsets."""
    consumer = Consumer(
        cluster.access.properties | {"bootstrap.servers": cluster.bootstrap, "group.id": topic}
    )

    def refused() -> str | None:
        try:
            consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        except Exception as error:
            return str(error)
        return None

    wait_until(refused, what="the commit is answered", seconds=2 * PATIENCE)
    consumer.close()
    return topic


def test_an_admin_client_ends_its_process_when_a_coordinator_has_moved(
    cluster: ManagedCluster, topic: str
) -> None:
    """librdkafka 5040: the old coordinator is restarted, and answers that another broker has the group."""
    group = committed_group(cluster, topic)

    def coordinator() -> int:
        return cluster.coordinator(group, transactional=False, within=PATIENCE)

    old = coordinator()
    control = script(cluster, "admin_offsets_crash.py", "moved", "--group", group)
    assert ended(control) == "the call returned"
    asking = script(cluster, "admin_offsets_crash.py", "moved", "--group", group)
    cluster.kill(old)
    wait_until(lambda: "the same" if coordinator() == old else None, what="it moves", seconds=PATIENCE)
    cluster.start_node(old)
    await_answers(cluster, [1, 2, 3])
    assert coordinator() != old
    assert ended(asking) == "SIGSEGV"


def test_an_admin_client_asks_with_the_old_epoch_after_the_leader_was_restarted(
    cluster: ManagedCluster, topic: str
) -> None:
    """list_offsets does not ask for the leader again after FENCED_LEADER_EPOCH."""
    alone = f"{topic}-alone"
    cluster.admin().create(alone, partitions=1, replication_factor=1, config={}, assignment=[[2]])
    wait_until(lambda: None if leader_of(cluster, alone) == 2 else "none", what="led", seconds=PATIENCE)
    arm = ("admin_ends_fenced.py", "the same leader, a higher epoch", "--topic", alone)
    control = script(cluster, *arm)
    assert "answered at question 1" in ended(control)
    asking = script(cluster, *arm)
    cluster.kill(2)
    wait_until(lambda: None if leader_of(cluster, alone) == -1 else "led", what="no leader", seconds=PATIENCE)
    cluster.start_node(2)
    wait_until(lambda: None if leader_of(cluster, alone) == 2 else "none", what="led", seconds=PATIENCE)
    assert "FENCED_LEADER_EPOCH at all of 20" in ended(asking)
    cluster.admin().delete(alone)


def told(cluster: ManagedCluster, name: str, arm: str, *options: str) -> str:
    """What one trial of a script saw that has proxies of its own."""
    path = ROOT / "examples" / "open-bugs" / name
    command = [sys.executable, str(path), "--runs", "1", "--arm", arm]
    done = subprocess.run(
        [*command, "--bootstrap", cluster.bootstrap, *options],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )
    print(done.stdout, done.stderr)
    return done.stdout.strip().splitlines()[-1].removeprefix(f"{arm}: 1 of 1: ")


@pytest.mark.parametrize(
    ("arm", "seen"),
    [
        (
            "ListOffsets is late, latest",
            r"SHOWN: (some records|no record), and then none: the rest was skipped",
        ),
        (
            "ListOffsets is late, earliest",
            r"SHOWN: (some records, and then|at once) records from before that offset",
        ),
        ("control, OffsetFetch is late, latest", "every record from there on, once"),
    ],
    ids=["latest", "earliest", "control"],
)
def test_a_late_answer_overwrites_a_later_assignment(
    cluster: ManagedCluster, topic: str, arm: str, seen: str
) -> None:
    """librdkafka 5345: an outdated answer to ListOffsets makes the client ask again. On a busy machine it may
    come before the first record."""
    found = told(cluster, "late_answer_after_assign.py", arm, "--topic", topic)
    assert re.fullmatch(seen, found)


@pytest.mark.parametrize(
    ("arm", "seen"),
    [
        ("lost, and another refused", "the record is there as epoch 0 sequence 1, epoch 1 sequence 0"),
        ("control, lost", "the record is there as epoch 0 sequence 1"),
        ("control, another refused", "the record is there as epoch 0 sequence 1"),
        ("control, one request in flight", "the record is there as epoch 0 sequence 1"),
    ],
    ids=["both", "lost", "refused", "one-in-flight"],
)
def test_an_idempotent_producer_writes_again_after_an_error_of_another_partition(
    cluster: ManagedCluster, arm: str, seen: str, request: pytest.FixtureRequest
) -> None:
    """librdkafka 4953: the epoch is bumped for all partitions, also for the one whose response was lost."""
    name = f"again-{request.node.callspec.id}"
    brokers = [[1, 2, 3], [2, 3, 1]]
    cluster.admin().create(name, partitions=2, replication_factor=3, config={}, assignment=brokers)
    settle(cluster, name, 2, 3, 2 * PATIENCE)
    line = told(cluster, "written_again.py", arm, "--topic", name)
    assert line.removeprefix("SHOWN: ") == f"reports {{'OK': 6}}; {seen}"
    cluster.admin().delete(name)


@pytest.mark.parametrize(
    ("arm", "partitions", "seen"),
    [
        ("fifty members join", 200, "200 of 200 began"),
        ("answered 10 times", 1, "1 of 1 began at the committed offset, asked again 10 times"),
        ("control, nothing is committed", 1, "0 of 1 began"),
    ],
    ids=["fifty", "answered", "control"],
)
def test_members_whose_epoch_is_stale_begin_at_the_committed_offset(
    cluster: ManagedCluster, arm: str, partitions: int, seen: str, request: pytest.FixtureRequest
) -> None:
    """platformatic/kafka 267: librdkafka asks again, and does not begin at the end."""
    name = f"stale-{request.node.callspec.id}"
    led = [[1 + number % 3] for number in range(partitions)]
    cluster.admin().create(name, partitions=partitions, replication_factor=1, config={}, assignment=led)
    settle(cluster, name, partitions, 1, 2 * PATIENCE)
    assert told(cluster, "stale_member_epoch.py", arm, "--topic", name).startswith(seen)
    cluster.admin().delete(name)


TIMED_OUT = "commit: _TIMED_OUT (retriable), read as committed in"


@pytest.mark.parametrize(
    ("arm", "meanwhile", "last"),
    [
        ("a write is held, aborted", "0 of 3 topics, as uncommitted in 2 of 3", "0 of 3"),
        ("a write is held, left", "0 of 3 topics, as uncommitted in 2 of 3", "0 of 3"),
        ("control, a write is held, committed again", "0 of 3 topics, as uncommitted in 2 of 3", "3 of 3"),
        ("the response is held, aborted", "3 of 3 topics, as uncommitted in 3 of 3", "3 of 3"),
        (
            "control, the response is held, committed again",
            "3 of 3 topics, as uncommitted in 3 of 3",
            "3 of 3",
        ),
    ],
    ids=["aborted", "left", "again", "carried-out-aborted", "carried-out-again"],
)
def test_a_commit_that_has_timed_out_goes_on_and_cannot_be_aborted(
    cluster: ManagedCluster, arm: str, meanwhile: str, last: str, request: pytest.FixtureRequest
) -> None:
    """librdkafka 4558 is as documented: the commit can be called again, and readers get what it committed."""
    names = [f"commit-{request.node.callspec.id}-{number}" for number in (1, 2, 3)]
    for name, replicas in zip(names, ([1, 2], [2, 1], [3]), strict=True):
        cluster.admin().create(
            name, partitions=1, replication_factor=len(replicas), config={}, assignment=[replicas]
        )
        settle(cluster, name, 1, len(replicas), 2 * PATIENCE)
    line = told(cluster, "commit_fails.py", arm, "--topics", ",".join(names))
    assert line.startswith(f"{TIMED_OUT} {meanwhile}; then "), line
    assert line.endswith(f"read as committed in {last}"), line
    assert ("abort_transaction: _CONFLICT" in line) is arm.endswith("aborted"), line
    for name in names:
        cluster.admin().delete(name)


@pytest.mark.parametrize(("arm", "shown"), [("4.4.0", True), ("control, 4.1.1", False)])
def test_brokers_do_not_wait_for_a_dead_controller(arm: str, shown: bool) -> None:
    said = told_of_own_cluster("controller_down.py", arm)
    assert said.startswith("SHOWN: raft-io takes ") is shown, said


@pytest.mark.parametrize(
    ("arm", "line"),
    [
        ("4.4.0", "SHOWN: the broker ended with exit code 1; the controller has not forgotten the topic"),
        ("control, 4.4.0", "the broker came back; the controller has forgotten the topic"),
    ],
)
def test_a_killed_broker_can_never_register_again(arm: str, line: str) -> None:
    assert told_of_own_cluster("elr_not_forgotten.py", arm) == line


@pytest.mark.parametrize(
    ("arm", "line"),
    [
        (
            "4.4.0",
            "SHOWN: the former leader was not in the ISR after 60 s; it has marked the partition as failed",
        ),
        ("control, 4.4.0", "the former leader is in the ISR; it has not marked the partition as failed"),
    ],
)
def test_a_former_leader_stops_replicating_after_records_were_deleted(arm: str, line: str) -> None:
    assert told_of_own_cluster("deleted_in_epoch.py", arm) == line


def test_a_consumer_goes_on_when_its_topic_is_deleted(cluster: ManagedCluster) -> None:
    """The control on Kafka of what ends the process with Tansu 0.6.0, by the same script."""
    path = ROOT / "examples" / "open-bugs" / "fetch_answer_crash.py"
    command = [sys.executable, str(path), "--here", "--arm", "deleted", "--bootstrap", cluster.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].startswith("the consumer went on, told of "), done.stdout


def told_of_own_cluster(script: str, arm: str) -> str:
    """The last line of one trial of a script that starts a cluster itself."""
    path = ROOT / "examples" / "open-bugs" / script
    done = subprocess.run(
        [sys.executable, str(path), "--here", "--arm", arm], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]
