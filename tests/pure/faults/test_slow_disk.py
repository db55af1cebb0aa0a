"""A throttled disk: scripts are run for real on made-up control groups, answers read, proof judged."""

from __future__ import annotations

import re
import subprocess
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from faults.shared.limited_nodes import MIB
from faults.slow_disk import (
    DiskSlowed,
    Limits,
    Probe,
    SlowDisk,
    bytes_probe,
    limits_script,
    operations_probe,
    parse_limits,
)
from faults.targets import BrokerId
from faults.targets.target_context import ClusterShape
from harness.model.errors import ClusterError, FaultError
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

BROKER = BrokerId(broker=1)
LIMITS: tuple[Limits, ...] = (
    {},
    {"rbps": 1048576},
    {"rbps": 1, "wbps": 2, "riops": 3, "wiops": 4},
    {"wiops": 100, "rbps": None},
)


def run(script: str, root: Path) -> str:
    """Run a script with its absolute paths moved below `root`."""
    moved = script.replace("/proc/1/cgroup", str(root / "of-pid-1"))
    moved = re.sub(r"(?<![\w/])/cgroup(?=[/$])", f"{root}/cgroup", moved)
    return subprocess.run(["bash", "-c", moved], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("limits", LIMITS)
def test_limits_are_set_under_cgroup_v1(tmp_path: Path, limits: Limits) -> None:
    group = tmp_path / "cgroup" / "blkio" / "docker" / "abc"
    group.mkdir(parents=True)
    (tmp_path / "of-pid-1").write_text("8:memory:/docker/abc\n7:blkio:/docker/abc\n0::/docker/abc\n")
    for name in ("read_bps", "write_bps", "read_iops", "write_iops"):
        (group / f"blkio.throttle.{name}_device").write_text("")
    found = parse_limits(run(limits_script("254:0", limits), tmp_path))
    # The kernel lists no device whose limit is 0; a plain file does.
    assert {name: value for name, value in found.items() if value} == {k: v for k, v in limits.items() if v}
    assert (group / "blkio.throttle.read_bps_device").read_text() == f"254:0 {limits.get('rbps') or 0}\n"


@pytest.mark.parametrize("limits", LIMITS)
def test_limits_are_set_under_cgroup_v2(tmp_path: Path, limits: Limits) -> None:
    group = tmp_path / "cgroup" / "system.slice" / "docker-abc.scope"
    group.mkdir(parents=True)
    (tmp_path / "cgroup" / "cgroup.controllers").write_text("cpu io memory\n")
    (tmp_path / "of-pid-1").write_text("0::/system.slice/docker-abc.scope\n")
    found = parse_limits(run(limits_script("8:0", limits), tmp_path))
    assert found == {name: value for name, value in limits.items() if value is not None}
    assert (group / "io.max").read_text().startswith("8:0 rbps=")


@pytest.mark.parametrize(
    ("way", "shown"),
    [("write", "if=/dev/zero"), ("read", "iflag=direct")],
)
def test_a_probe_prints_its_own_figures_only(way: str, shown: str) -> None:
    # As dd does: what was copied goes to standard error.
    script = 'dd() { echo "copied $*" >&2; }\n' + Probe(way, 4096, 10).script("tag")
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    assert len(said.splitlines()) == 1
    assert shown in said


@pytest.mark.parametrize(
    "text",
    [
        "16+0 records in\n16+0 records out\n65536 bytes (66 kB, 64 KiB) copied, 1.25 s, 52 kB/s\n",
        "16+0 records in\n16+0 records out\n65536 bytes (64.0KB) copied, 1.250000 seconds, 51.2KB/s\n",
    ],
    ids=["GNU", "BusyBox"],
)
def test_both_kinds_of_dd_are_understood(text: str) -> None:
    assert Probe("write", 4096, 16).seconds(text) == 1.25
    assert Probe("write", 4096, 17).seconds(text) is None, "not all of it was written"
    assert Probe("write", 4096, 16).seconds("dd: Invalid argument") is None


@given(st.floats(0.05 * MIB, 10_000 * MIB), st.integers(2, 1_000_000))
def test_probes_take_seconds_not_minutes(rate: float, iops: int) -> None:
    probe = bytes_probe("read", rate)
    assert probe.block * probe.count / rate < 3
    assert operations_probe("read", iops).count / iops <= 2


def copied(probe: Probe, seconds: float) -> FakeCommandResult:
    return FakeCommandResult(
        0, f"{probe.block * probe.count} bytes (1 kB, 1 KiB) copied, {seconds} s, 1 MB/s\n"
    )


@dataclass
class Disk(FakeCluster):
    """A node whose disk takes what limits it is given, and is as slow as it is told to be."""

    device: str = "disk 254:0"
    taken: dict[str, int] = field(default_factory=dict)
    deaf: bool = False
    slow: float = 1.5
    free: float = 0.01
    probe: Probe = field(default_factory=lambda: bytes_probe("write", MIB))

    def in_files(self, number: int, script: str) -> FakeCommandResult:  # noqa: ARG002
        return copied(self.probe, self.free) if "oflag" in script else FakeCommandResult(0, self.device)

    def in_node(self, number: int, script: str) -> FakeCommandResult:  # noqa: ARG002
        return copied(self.probe, self.slow)

    def in_cgroups(self, number: int, script: str) -> FakeCommandResult:
        self.scripts.append((number, script))
        line = next(line for line in script.splitlines() if "io.max" in line and "rbps=" in line)
        words = (word.strip('"').split("=") for word in line.split() if "=" in word)
        if not self.deaf:
            self.taken = {name: int(value) for name, value in words if value.isdigit()}
        return FakeCommandResult(0, "\n".join(f"{name} {value}" for name, value in self.taken.items()))


WRITES = SlowDisk(target=BROKER, mib_per_second=1, direction="write")


@pytest.mark.parametrize(
    ("slow", "free", "wrong"),
    [
        (1.5, 0.01, None),
        (3.0, 0.01, None),
        (0.5, 0.01, "more than was asked for"),
        (1.5, 1.4, "no faster without the limit"),
    ],
    ids=["as asked", "slower still", "too fast", "slow anyway"],
)
def test_what_proves_a_slow_disk(slow: float, free: float, wrong: str | None) -> None:
    cluster = Disk([quiet()], slow=slow, free=free)
    injection = WRITES.aim(context(cluster))
    injection.apply(context(cluster))
    assert cluster.taken == {"wbps": MIB}
    evidence = injection.verify(context(cluster))
    assert evidence.seen is (wrong is None)
    assert wrong is None or wrong in evidence.what


def test_a_slow_disk_is_taken_back_from_its_data_alone() -> None:
    cluster = Disk([quiet()])
    spec = SlowDisk(target=BROKER, mib_per_second=1, iops=50)
    injection = spec.aim(context(cluster))
    injection.apply(context(cluster))
    assert cluster.taken == {"wbps": MIB, "rbps": MIB, "wiops": 50, "riops": 50}
    again = DiskSlowed.model_validate_json(injection.model_dump_json())
    for _ in range(2):
        assert again.heal(context(cluster)).seen
        assert cluster.taken == {}


def test_a_restart_takes_the_limits_and_they_are_set_again() -> None:
    cluster = Disk([quiet()])
    injection = WRITES.aim(context(cluster))
    injection.apply(context(cluster))
    cluster.taken = {}
    assert injection.restarted(context(cluster), 1)
    assert cluster.taken == {"wbps": MIB}


def test_a_stopped_node_has_no_limits_to_set_or_to_take_away() -> None:
    cluster = Disk([quiet()], dead={1})
    injection = WRITES.aim(context(cluster))
    injection.apply(context(cluster))
    injection.undo(context(cluster))
    assert cluster.scripts == []
    assert not injection.verify(context(cluster)).seen


@pytest.mark.parametrize("ends", [True, False])
def test_a_node_that_ends_while_its_limits_are_taken_away_has_none(ends: bool) -> None:
    cluster = Disk([quiet()])
    injection = WRITES.aim(context(cluster))

    def in_cgroups(number: int, script: str) -> FakeCommandResult:  # noqa: ARG001
        cluster.dead = {number} if ends else set()
        raise ClusterError("a sidecar could not run beside the node's control groups")

    cluster.in_cgroups = in_cgroups  # type: ignore[method-assign]
    with nullcontext() if ends else pytest.raises(ClusterError):
        injection.undo(context(cluster))


def test_limits_that_the_kernel_does_not_take_are_an_error() -> None:
    cluster = Disk([quiet()], deaf=True)
    with pytest.raises(FaultError, match="could not be throttled"):
        WRITES.aim(context(cluster)).apply(context(cluster))


def test_a_log_dir_on_no_disk_is_refused() -> None:
    with pytest.raises(FaultError, match="not on a disk"):
        WRITES.aim(context(Disk([quiet()], device="tmpfs")))
    shape = ClusterShape(
        brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3, disk_mib=64
    )
    with pytest.raises(ValueError, match="no disk to slow down"):
        WRITES.warnings(shape)


@pytest.mark.parametrize("fields", [{}, {"mib_per_second": 0}, {"iops": 0}, {"mib_per_second": float("nan")}])
def test_a_slow_disk_needs_a_limit_that_makes_sense(fields: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        SlowDisk.model_validate({"target": {"broker": 1}, **fields})
