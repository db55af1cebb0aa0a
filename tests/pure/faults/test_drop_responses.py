"""Dropped responses: what counts as proof, and on whom it can be done."""

from __future__ import annotations

import pytest

from faults.client_traffic import DropResponses, ResponsesDropped, judge_dropped
from faults.network.partition_proof import ProbeReport
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import TopologyView
from harness.model.errors import FaultError
from tests.support.builders.views import quiet, seen, silent, state, view
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)


def spec(target: object = "all") -> DropResponses:
    return DropResponses.model_validate({"target": target})


def report(opened: int = 1, requests: int = 2, dropped: int = 3, past: int = 0) -> ProbeReport:
    counts = {
        "heard-opened": opened,
        "heard-requests": requests,
        "cut-answers": dropped,
        "heard-answers": past,
    }
    return ProbeReport(before=dict.fromkeys(counts, 0), after=counts)


@pytest.mark.parametrize(
    ("said", "answered", "why"),
    [
        (report(), {2, 3}, ""),
        (report(opened=0), {2, 3}, "no connection was opened"),
        (report(requests=0), {2, 3}, "no request arrived"),
        (report(dropped=0), {2, 3}, "no response was dropped"),
        (report(past=1), {2, 3}, "1 packets of responses passed"),
        (report(), {1, 2, 3}, "broker 1 answered"),
    ],
)
def test_requests_must_arrive_and_no_answer_leave(said: ProbeReport, answered: set[int], why: str) -> None:
    evidence = judge_dropped((1,), {1: said}, answered)
    assert evidence.seen is not bool(why)
    assert why in evidence.what


def test_a_broker_that_does_not_run_proves_nothing() -> None:
    assert not judge_dropped((1,), {}, set()).seen
    assert judge_dropped((1, 2), {2: report()}, set()).facts["not_running"] == [1]


def test_only_packets_with_data_are_dropped_so_that_connections_are_made() -> None:
    cluster = FakeCluster([quiet()])
    injection = spec({"leader": 0}).aim(context(cluster))
    assert not cluster.scripts
    injection.apply(context(cluster))
    ((number, script),) = cluster.scripts
    assert number == 1
    assert script.splitlines()[-1] == (
        "put OUTPUT -p tcp -d 10.0.0.254 --sport 9092 --tcp-flags SYN NONE -m length --length 53: "
        "-m comment --comment tag-1/cut-answers -j DROP"
    )


def test_a_record_is_enough_to_heal() -> None:
    cluster = FakeCluster([quiet()])
    injection = spec({"leader": 0}).aim(context(cluster))
    assert ResponsesDropped.model_validate_json(injection.model_dump_json()) == injection
    assert injection.heal(context(cluster)).seen
    cluster.says = [FakeCommandResult(1, "left")]
    with pytest.raises(FaultError, match="could not be removed"):
        injection.undo(context(cluster))


DEAF = view(silent(1), *(seen(broker, state()) for broker in (2, 3)))


@pytest.mark.parametrize(("after", "heals"), [(quiet(), True), (DEAF, False)])
def test_healed_means_that_it_answers(
    after: TopologyView, heals: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.shared.broker_client_fault._HEAL_SECONDS", 0.0)
    injection = spec({"broker": 1}).aim(context(FakeCluster([quiet()])))
    if heals:
        assert injection.healed(context(FakeCluster([after]))).seen
        return
    with pytest.raises(FaultError, match="broker 1 does not answer"):
        injection.healed(context(FakeCluster([after])))


def test_a_restart_takes_the_rule_away() -> None:
    cluster = FakeCluster([quiet()], says=[FakeCommandResult(0, "put\n"), FakeCommandResult()])
    injection = spec({"broker": 1}).aim(context(FakeCluster([quiet()])))
    assert injection.restarted(context(cluster), 1)
    assert not injection.restarted(context(cluster), 1)


@pytest.mark.parametrize("target", ["client", "controllers"])
def test_only_brokers_answer_clients(target: str) -> None:
    with pytest.raises(ValueError, match="only brokers answer"):
        spec(target).warnings(SHAPE)
    with pytest.raises(FaultError, match="only brokers answer"):
        spec(target).aim(context(FakeCluster([quiet()])))


def test_that_the_harness_is_blind_too_is_told() -> None:
    assert "own requests" in spec().warnings(SHAPE)[0]
    assert spec().max_brokers_down(SHAPE) == 3
