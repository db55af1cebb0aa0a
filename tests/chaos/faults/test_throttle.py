"""Quotas of clients on real brokers: a client is throttled, producers wait, and the quotas go again."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from faults.shared.fault_spec import InjectionContext
from faults.throttle import Throttle
from harness.cluster.managed import ManagedCluster
from harness.model import journal
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import parse
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

RUN = """
name: throttled
title: Brokers take less than is sent
topic: {partitions: 1, config: {min.insync.replicas: 2}}
workload: {rate: 200, record_size: 1000}
steps:
- write: {name: w, seconds: 25, faults: [{fault: {throttle: {produce: 20000}}, at: 1, for: 20}]}
arms:
- {name: throttled, producer: &patient {acks: all, enable.idempotence: true, delivery.timeout.ms: 120000}}
- {name: control, producer: *patient, without_faults: true}
"""


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}", seed="7")


def test_clients_are_throttled(
    cluster: ManagedCluster, topic: str, prove: Prove, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Throttle(produce=20_000, consume=10_000)
    with monkeypatch.context() as short:
        short.setattr("faults.throttle.Throttled.proof_seconds", 1.0)
        unasked = fault.aim(context(cluster, topic)).verify(context(cluster, topic))
    assert "reports the quotas {}" in unasked.what, "nothing was set yet"
    for way in ("produce", "fetch"):
        assert cluster.throttle_ms(1, "control", way, 241_000) == 0
    with prove(fault) as shown:
        assert "producer_byte_rate" in shown.what
        assert "consumer_byte_rate" in shown.what
        assert cluster.quota_words(2) == (
            "consumer_byte_rate=10000 for client-id <default>",
            "producer_byte_rate=20000 for client-id <default>",
        )
    assert [cluster.quota_words(number) for number in (1, 2, 3)] == [(), (), ()]


def test_one_client_is_throttled_and_no_other(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    injection = Throttle(produce=5000, client="poor").aim(at)
    injection.apply(at)
    assert injection.verify(at).seen
    assert cluster.throttle_ms(1, "rich", "produce", 100_000) == 0
    assert injection.heal(at).seen


@pytest.mark.soak
def test_producers_wait_and_lose_nothing(cluster: ManagedCluster, results: Path) -> None:
    folder, result = run_on(cluster, parse(RUN, "throttled"), Options(results=results, seed=3))
    for arm in result.arms:
        assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
        assert arm.summary is not None
        assert set(arm.summary.outcomes) == {"acked"}
    throttled, control = (longest_wait(folder / arm.meta.arm) for arm in result.arms)
    assert result.arms[0].meta.windows[0].verified, result.arms[0].meta.windows[0].evidence
    assert throttled > 3.0
    assert throttled > 2 * control


def longest_wait(folder: Path) -> float:
    """The longest time from a send to its report, in seconds."""
    sends = ds.dataset(folder / journal.SENDS_DIR).to_table(columns=["sent_ns", "closed_ns"])
    return float(pc.max(pc.subtract(sends["closed_ns"], sends["sent_ns"])).as_py()) / 1e9
