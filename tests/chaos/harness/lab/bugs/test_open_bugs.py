"""Bugs that are open in current clients: a test that fails here shows that a bug has been fixed.

docs/open-bugs.md describes them; the workarounds of the harness would then no longer be needed.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE, leader_of
from tests.support.paths import ROOT

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


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
    """Let it go on; what it printed then."""
    output, _ = asking.communicate("\n", timeout=2 * PATIENCE)
    return output.strip()


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


def told_of_own_cluster(script: str, arm: str) -> str:
    """The last line of one trial of a script that starts a cluster itself."""
    path = ROOT / "examples" / "open-bugs" / script
    done = subprocess.run(
        [sys.executable, str(path), "--here", "--arm", arm], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]
