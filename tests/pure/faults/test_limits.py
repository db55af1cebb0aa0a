"""Limits on CPU and memory: what samples say, what is proof, and that exactly what was before comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from faults.resource_limits import (
    CpuLimit,
    CpuLimited,
    MemoryLimit,
    MemoryLimited,
    fill_script,
    load_script,
    quota,
    used_bytes,
)
from faults.shared.limited_nodes import MIB, cpu_sample, memory_sample
from faults.targets import BrokerId, Leader
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.spec.cluster import ClusterSpec
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

BROKER = BrokerId(broker=1)
SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)


@dataclass
class Container(FakeCluster):
    """A node that takes limits, and obeys them or not."""

    config: dict[str, int] = field(
        default_factory=lambda: {"CpuPeriod": 0, "CpuQuota": 0, "Memory": 0, "MemorySwap": 0}
    )
    asked: list[dict[str, int]] = field(default_factory=list)
    uses: float = 1.0
    throttles: bool = True
    cpus: int = 4
    seconds: float = 0.0
    usage: int = 200 * MIB
    oom: bool = False

    def inspect(self, number: int) -> dict[str, Any]:
        return {
            "HostConfig": dict(self.config),
            "State": {"OOMKilled": self.oom, "Running": number not in self.dead},
        }

    def limit(self, number: int, **limits: int) -> None:  # noqa: ARG002
        self.asked.append(limits)
        names = {
            "cpu_period": "CpuPeriod",
            "cpu_quota": "CpuQuota",
            "mem_limit": "Memory",
            "memswap_limit": "MemorySwap",
        }
        self.config |= {names[name]: value for name, value in limits.items()}

    def in_node(self, number: int, script: str) -> FakeCommandResult:
        self.scripts.append((number, script))
        self.seconds += 1.0
        return self.says.pop(0) if self.says else FakeCommandResult()

    def stats(self, number: int) -> dict[str, Any]:  # noqa: ARG002
        return {
            "read": f"2026-01-01T00:00:{self.seconds:09.6f}123Z",
            "cpu_stats": {
                "cpu_usage": {"total_usage": int(self.seconds * self.uses * 1e9)},
                "online_cpus": self.cpus,
                "throttling_data": {
                    "periods": int(self.seconds * 10),
                    "throttled_periods": int(self.seconds * 9) if self.throttles else 0,
                },
            },
            "memory_stats": {
                "usage": self.usage,
                "limit": self.config["Memory"] or 2**40,
                "stats": {"total_active_file": 10 * MIB, "total_inactive_file": 30 * MIB},
            },
        }


def test_both_versions_of_control_groups_are_read() -> None:
    first = {"usage": 100, "limit": 200, "stats": {"total_active_file": 20, "total_inactive_file": 30}}
    second = {"usage": 100, "limit": 200, "stats": {"active_file": 20, "inactive_file": 30}}
    for memory in (first, second):
        assert memory_sample({"memory_stats": memory}).unreclaimable == 50


def test_a_sample_of_cpu_use() -> None:
    sample = cpu_sample(Container([], seconds=2.5, uses=2.0).stats(1))
    assert sample.used == pytest.approx(5.0)
    assert (sample.periods, sample.throttled, sample.cpus) == (25, 22, 4)
    later = cpu_sample(Container([], seconds=3.5).stats(1))
    assert later.at - sample.at == pytest.approx(1.0)


@given(st.floats(0.01, 64))
def test_a_quota_is_never_below_what_the_kernel_takes(cpus: float) -> None:
    assert quota(cpus) >= 1000
    assert quota(cpus) == pytest.approx(cpus * 100_000, abs=0.5)


@given(st.floats(0.01, 64))
def test_the_load_needs_more_than_is_allowed(cpus: float) -> None:
    loops = load_script(cpus).partition(" in ")[2].partition(";")[0].split()
    assert len(loops) > cpus


@pytest.mark.parametrize(
    ("uses", "throttles", "proof"),
    [(0.5, True, True), (0.55, True, True), (0.9, True, False), (0.3, False, False)],
    ids=["at the limit", "a little over", "far over", "idle"],
)
def test_a_cpu_limit_is_proved_by_use_and_by_throttling(uses: float, throttles: bool, proof: bool) -> None:
    cluster = Container([quiet()], uses=uses, throttles=throttles)
    injection = CpuLimit(target=BROKER, cpus=0.5).aim(context(cluster))
    injection.apply(context(cluster))
    assert injection.verify(context(cluster)).seen is proof


def test_a_cpu_limit_that_the_engine_has_not_is_no_proof() -> None:
    cluster = Container([quiet()], uses=0.1)
    evidence = CpuLimit(target=BROKER, cpus=0.5).aim(context(cluster)).verify(context(cluster))
    assert not evidence.seen
    assert "CpuPeriod is 0, not 100000" in evidence.what


@pytest.mark.parametrize(
    ("before", "after"),
    [((0, 0), (100_000, -1)), ((100_000, -1), (100_000, -1)), ((50_000, 20_000), (50_000, 20_000))],
)
def test_the_cpu_limits_of_before_come_back(before: tuple[int, int], after: tuple[int, int]) -> None:
    cluster = Container([quiet()])
    cluster.config |= dict(zip(("CpuPeriod", "CpuQuota"), before, strict=True))
    injection = CpuLimit(target=BROKER, cpus=0.5).aim(context(cluster))
    injection.apply(context(cluster))
    again = CpuLimited.model_validate_json(injection.model_dump_json())
    assert again == injection
    for _ in range(2):
        assert again.heal(context(cluster)).seen
        assert (cluster.config["CpuPeriod"], cluster.config["CpuQuota"]) == after


def test_a_limit_that_stays_is_no_healing() -> None:
    cluster = Container([quiet()])
    injection = CpuLimit(target=BROKER, cpus=0.5).aim(context(cluster))
    injection.apply(context(cluster))
    with pytest.raises(FaultError, match="still set"):
        injection.healed(context(cluster))


def test_as_many_cpus_as_there_are_is_no_limit() -> None:
    with pytest.raises(FaultError, match="no limit on this machine"):
        CpuLimit(target=BROKER, cpus=4).aim(context(Container([quiet()])))


@pytest.mark.parametrize("cpus", [0, 0.005, -1, float("nan"), float("inf")])
def test_cpus_that_make_no_sense(cpus: float) -> None:
    with pytest.raises(ValidationError):
        CpuLimit(target=BROKER, cpus=cpus)


def test_only_a_starved_broker_counts_as_down() -> None:
    assert CpuLimit(target=BROKER, cpus=0.2).max_brokers_down(SHAPE) == 0
    assert CpuLimit(target=BROKER, cpus=0.02).max_brokers_down(SHAPE) == 1
    assert MemoryLimit(target=BROKER, mib=400).max_brokers_down(SHAPE) == 1


def filled(mib: int) -> FakeCommandResult:
    return FakeCommandResult(0, f"used {mib * MIB}\n")


@pytest.mark.parametrize(
    ("says", "proof"),
    [(filled(255), True), (filled(300), False), (FakeCommandResult(0, "Killed"), False)],
    ids=["within", "more", "nothing told"],
)
def test_a_memory_limit_is_proved_by_what_does_not_fit(says: FakeCommandResult, proof: bool) -> None:
    cluster = Container([quiet()], says=[says])
    injection = MemoryLimit(target=BROKER, mib=256).aim(context(cluster))
    injection.apply(context(cluster))
    evidence = injection.verify(context(cluster))
    assert evidence.seen is proof, evidence.what
    # 200 MiB are used: what is asked for beyond the limit is 64 MiB.
    assert "count=120" in cluster.scripts[0][1]


def test_a_broker_killed_for_want_of_memory_is_proof_and_is_started_again() -> None:
    cluster = Container([quiet()])
    injection = MemoryLimit(target=BROKER, mib=256).aim(context(cluster))
    injection.apply(context(cluster))
    cluster.dead.add(1)
    assert not injection.verify(context(cluster)).seen, "somebody else has stopped it"
    injection.undo(context(cluster))
    assert cluster.dead == {1}, "who stopped it starts it"
    injection.apply(context(cluster))
    cluster.oom = True
    assert "has killed broker 1" in injection.verify(context(cluster)).what
    assert injection.heal(context(cluster)).seen
    assert cluster.dead == set()


def test_the_memory_limits_of_before_come_back() -> None:
    for before, after in (((0, 0), (2**62, 2**62)), ((2**30, 2**31), (2**30, 2**31))):
        cluster = Container([quiet()])
        cluster.config |= dict(zip(("Memory", "MemorySwap"), before, strict=True))
        injection = MemoryLimit(target=BROKER, mib=256).aim(context(cluster))
        injection.apply(context(cluster))
        again = MemoryLimited.model_validate_json(injection.model_dump_json())
        for _ in range(2):
            assert again.heal(context(cluster)).seen
            assert (cluster.config["Memory"], cluster.config["MemorySwap"]) == after


def test_a_memory_limit_below_what_is_held_is_a_kill() -> None:
    # 200 MiB are used, 40 of them page cache, and 16 are left to live on.
    with pytest.raises(FaultError, match="would be a kill"):
        MemoryLimit(target=BROKER, mib=175).aim(context(Container([quiet()])))
    MemoryLimit(target=BROKER, mib=176).aim(context(Container([quiet()])))


def test_log_dirs_in_memory_count() -> None:
    shape = ClusterShape(
        brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3, disk_mib=256
    )
    with pytest.raises(ValueError, match=r"cluster\.disk_mib"):
        MemoryLimit(target=BROKER, mib=256).warnings(shape)
    MemoryLimit(target=Leader(leader=0), mib=300).warnings(shape)


@given(st.integers(1, 2**40))
def test_the_file_is_as_big_as_asked(size: int) -> None:
    count = int(fill_script("tag", size).partition("count=")[2].split()[0])
    assert 0 <= count * MIB - size < MIB


def test_what_a_container_uses_is_read() -> None:
    assert used_bytes("300+0 records in\nused 12345\n") == 12345
    assert used_bytes("used \n") is None


@pytest.mark.parametrize(("mib", "fits"), [(15, False), (0, False), (16, True), (64, True)])
def test_a_log_dir_has_a_least_size(mib: int, fits: bool) -> None:
    if fits:
        assert ClusterSpec(disk_mib=mib).disk_mib == mib
    else:
        with pytest.raises(ValidationError, match="too small for a log dir"):
            ClusterSpec(disk_mib=mib)
