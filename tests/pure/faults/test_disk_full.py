"""A full disk: what counts as proof, what is freed, and which brokers are started again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from faults.disk_full import DiskFilled, DiskFull, no_space_line
from faults.targets import BrokerId, Controller, Leader
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

BROKER = BrokerId(broker=1)
ENOSPC = "java.io.IOException: No space left on device\n\tat java.base/..."


@dataclass
class Volume(FakeCluster):
    """A node with a log dir of a limited size, and a log."""

    kind: str = "limited"
    log: str = ""
    started: int = 0
    starts: list[int] = field(default_factory=list)
    asked_since: list[int] = field(default_factory=list)

    def in_files(self, number: int, script: str) -> FakeCommandResult:
        self.scripts.append((number, script))
        return FakeCommandResult(0, f"{self.kind}\n77" if not self.scripts[1:] else "42")

    def log_since(self, number: int, since_ns: int) -> str:  # noqa: ARG002
        self.asked_since.append(since_ns)
        return self.log

    def started_ns(self, number: int) -> int:  # noqa: ARG002
        return self.started

    def start_node(self, number: int) -> None:
        self.starts.append(number)
        self.dead.discard(number)
        self.log = ""


def filled(cluster: Volume) -> DiskFilled:
    injection = DiskFull(target=BROKER).aim(context(cluster))
    injection.apply(context(cluster))
    return injection


def test_a_refused_write_in_the_log_since_then_is_proof() -> None:
    cluster = Volume([quiet()], log=ENOSPC, code=1, dead={1})
    evidence = filled(cluster).verify(context(cluster))
    assert evidence.seen
    assert "broker 1 has ended itself" in evidence.what
    assert cluster.asked_since[0] == 77
    assert evidence.facts["exit_codes"] == {1: 1}


def test_an_exit_alone_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.disk_full._SECONDS", 0.1)
    cluster = Volume([quiet()], log="[..] INFO shutting down", dead={1})
    evidence = filled(cluster).verify(context(cluster))
    assert not evidence.seen
    assert "has ended without an error about a full disk: exit codes {1: 137}" in evidence.what


def test_a_page_that_could_not_be_had_is_proof() -> None:
    line = "java.lang.InternalError: a fault occurred in an unsafe memory access operation"
    cluster = Volume([quiet()], log=line, code=1, dead={1})
    evidence = filled(cluster).verify(context(cluster))
    assert evidence.seen
    assert "was refused a write (no page of a mapped file)" in evidence.what


def test_what_the_broker_frees_is_filled_too_where_it_was_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.disk_full._SECONDS", 0.1)
    cluster = Volume([quiet()])
    injection = filled(cluster)
    assert not injection.verify(context(cluster)).seen
    topped_up = [_unpacked(script) for _, script in cluster.scripts if "[ -e " in _unpacked(script)]
    assert topped_up
    assert all("fallocate" in script and "exit 0" in script for script in topped_up)


@pytest.mark.parametrize(
    ("dead", "code", "log", "killed", "started"),
    [
        (True, 1, ENOSPC, False, True),
        (True, 1, "a page could not be had: InternalError", False, True),
        (False, 0, ENOSPC, True, True),
        (False, 0, "", False, False),
        (True, 137, "", False, False),
        (True, 143, "", False, False),
    ],
    ids=["ended itself", "ended otherwise", "met it and runs", "never met it", "killed", "stopped"],
)
def test_who_is_started_again(dead: bool, code: int, log: str, killed: bool, started: bool) -> None:
    cluster = Volume([quiet()])
    injection = filled(cluster)
    cluster.log, cluster.code, cluster.dead = log, code, {1} if dead else set()
    kills: list[int] = []
    cluster.kill = kills.append  # type: ignore[method-assign]
    DiskFilled.model_validate_json(injection.model_dump_json()).undo(context(cluster))
    assert cluster.starts == [1] * started
    assert kills == [1] * killed
    assert "rm -f" in _unpacked(cluster.scripts[-1][1])


def test_healing_twice_starts_once() -> None:
    cluster = Volume([quiet()])
    injection = filled(cluster)
    cluster.log, cluster.code, cluster.dead = ENOSPC, 1, {1}
    for _ in range(2):
        evidence = injection.heal(context(cluster))
        assert evidence.seen
        assert evidence.facts["free_kib"] == {1: 42}
    assert cluster.starts == [1]


def test_only_a_log_dir_of_a_limited_size_is_filled() -> None:
    with pytest.raises(FaultError, match=r"cluster\.disk_mib"):
        DiskFull(target=BROKER).aim(context(Volume([quiet()], kind="not")))


def shape(disk_mib: int | None) -> ClusterShape:
    return ClusterShape(
        brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3, disk_mib=disk_mib
    )


def test_a_cluster_without_the_option_is_refused_before_it_starts() -> None:
    with pytest.raises(ValueError, match=r"set `cluster\.disk_mib`"):
        DiskFull(target=BROKER).warnings(shape(None))
    with pytest.raises(ValueError, match="is all of the log dir"):
        DiskFull(target=BROKER, leave_kib=16 * 1024).warnings(shape(16))
    with pytest.raises(ValueError, match="a separate controller"):
        DiskFull(target=Controller(controller=True)).warnings(shape(16))
    DiskFull(target=Leader(leader=0), leave_kib=16 * 1024 - 1).warnings(shape(16))
    assert DiskFull(target=Leader(leader=0)).max_brokers_down(shape(16)) == 1


def test_the_first_line_that_tells_of_it() -> None:
    assert no_space_line("a\nb\n" + ENOSPC) == "java.io.IOException: No space left on device"
    assert no_space_line("plenty of space left on device") is None


def _unpacked(script: str) -> str:
    import base64
    import gzip

    return gzip.decompress(base64.b64decode(script.split("printf %s ")[1].split()[0])).decode()
