"""Limits on CPU, memory and disk of a container: measured, taken away, and nothing seen without them."""

from __future__ import annotations

import pytest

from faults import CpuLimit, MemoryLimit, SlowDisk
from faults.shared.fault_spec import FaultSpec, InjectionContext
from faults.targets import Leader
from harness.cli.listings import faults
from harness.cluster.managed import ManagedCluster
from harness.model.errors import FaultError
from harness.run.preflight import kernel_probes
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

LEADER = Leader(leader=0)
SPECS = (
    CpuLimit(target=LEADER, cpus=0.2),
    MemoryLimit(target=LEADER, mib=900),
    SlowDisk(target=LEADER, mib_per_second=2, direction="write"),
)


@pytest.fixture(scope="module")
def lacking() -> dict[str, str]:
    """Kinds that this machine cannot have, with the reason."""
    return {
        row["kind"]: row["reason"]
        for row in faults.fault_rows(kernel_probes.kernel_capabilities())
        if row["possible"] is False
    }


def skip_unless_possible(kind: str, lacking: dict[str, str]) -> None:
    if kind in lacking:
        pytest.skip(f"{kind} is not possible here: {lacking[kind]}")


def test_cpu_limit(cluster: ManagedCluster, prove: Prove, lacking: dict[str, str]) -> None:
    skip_unless_possible("cpu_limit", lacking)
    with prove(CpuLimit(target=LEADER, cpus=0.2)) as shown:
        (node,) = shown.nodes
        assert shown.facts["measured"][str(node)]["cpus"] <= 0.24
        assert cluster.inspect(node)["HostConfig"]["CpuQuota"] == 20_000
    assert cluster.inspect(node)["HostConfig"]["CpuQuota"] in (0, -1)


def test_memory_limit(cluster: ManagedCluster, prove: Prove, lacking: dict[str, str]) -> None:
    skip_unless_possible("memory_limit", lacking)
    with prove(MemoryLimit(target=LEADER, mib=900)) as shown:
        (node,) = shown.nodes
        assert shown.facts["measured"][str(node)]["usage_mib"] <= 900
        assert cluster.is_running(node)
    assert cluster.stats(node)["memory_stats"]["limit"] > 2**30


def test_slow_disk(prove: Prove, lacking: dict[str, str]) -> None:
    skip_unless_possible("slow_disk", lacking)
    with prove(SlowDisk(target=LEADER, mib_per_second=2, direction="write")) as shown:
        assert "of 2" in shown.what


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name())
def test_without_the_limit_there_is_no_proof(
    cluster: ManagedCluster, topic: str, spec: FaultSpec, lacking: dict[str, str]
) -> None:
    skip_unless_possible(spec.name(), lacking)
    at = InjectionContext(cluster, topic, 4.0, f"kafka-chaos-{topic[:24]}")
    injection = spec.aim(at)
    assert not injection.verify(at).seen, "nothing was applied"


def test_a_memory_limit_below_what_is_held_is_refused(cluster: ManagedCluster, topic: str) -> None:
    at = InjectionContext(cluster, topic, 4.0, "kafka-chaos-refused")
    with pytest.raises(FaultError, match="would be a kill"):
        MemoryLimit(target=LEADER, mib=64).aim(at)
