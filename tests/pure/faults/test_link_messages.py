"""Slow links by the proxies: their rules, and what the answers to requests prove."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from faults.network.link_probe import Echoes
from faults.network.links import Link
from faults.proxied import message_probe
from faults.proxied.link_messages import (
    DelayedMessages,
    LostMessages,
    OnMessages,
    ReorderedMessages,
    SlowedMessages,
    link_rules,
)
from faults.proxied.message_probe import Asking, ProbeAnswers, parse_answers
from faults.shared.fault_spec import KINDS, FaultSpec
from faults.targets.target_context import ClusterShape
from harness.model.request_rules import RequestRule, RuleCounts
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeProxies, context

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
ONE_WAY, BOTH_WAYS = (Link(1, 2),), (Link(1, 2), Link(2, 1))
LINK = Link(1, 2)


def spec(kind: str, **fields: Any) -> FaultSpec:
    return KINDS[kind].model_validate({"target": {"leader": 0}, "to": {"followers": 0}, **fields})


def echoes(*milliseconds: float, sent: int | None = None) -> Echoes:
    trips = tuple((number, round(trip * 1000)) for number, trip in enumerate(milliseconds))
    return Echoes(len(trips) if sent is None else sent, trips)


def test_a_link_is_requests_one_way_and_the_responses_to_those_the_other_way() -> None:
    links = (Link(1, 2), Link(1, 3), Link(2, 3))
    rules = link_rules(context(FakeCluster([quiet()])), links, action="delay", delay_ms=5)
    found = {(rule.direction, rule.from_nodes, rule.to_nodes) for rule in rules}
    assert found == {
        (way, *ends) for way in ("request", "response") for ends in (((1,), (2, 3)), ((2,), (3,)))
    }
    assert [rule.id for rule in rules] == ["tag-1/0", "tag-1/1", "tag-1/2", "tag-1/3"]
    assert len({rule.seed for rule in rules}) == 4, "each draws on its own"


@pytest.mark.parametrize(
    ("kind", "fields", "action"),
    [
        ("latency", {"delay_ms": 50}, {"action": "delay", "delay_ms": 50}),
        ("jitter", {"delay_ms": 50, "spread_ms": 20}, {"action": "delay", "delay_ms": 50, "jitter_ms": 20}),
        ("reorder", {"percent": 25}, {"action": "delay", "delay_ms": 20, "share": 0.75}),
        ("bandwidth", {"rate": "2mbit"}, {"action": "bandwidth", "bytes_per_second": 250_000}),
        ("loss", {"percent": 10}, {"action": "lose", "share": 0.1}),
    ],
)
def test_each_fault_has_rules_that_another_process_can_remove(kind: str, fields: Any, action: Any) -> None:
    proxies = FakeProxies()
    at = context(FakeCluster([quiet()], proxies=proxies))
    injection = spec(kind, by="proxy", **fields).aim(at)
    assert isinstance(injection, OnMessages)
    assert injection.links == (Link(1, 2), Link(1, 3))
    assert injection.target == "broker 1 to broker 2, 3, by the proxies"
    for rule in injection.rules:
        assert {key: value for key, value in rule.to_json().items() if key in action} == action
    injection.apply(at)
    again = KINDS[kind].injection_from(injection.model_dump(mode="json"))
    assert again == injection
    assert again.heal(at).seen
    assert {rule_id for rule_id, _ in proxies.removed} == {rule.id for rule in injection.rules}


@pytest.mark.parametrize("kind", ["latency", "jitter", "reorder", "bandwidth", "loss"])
def test_the_proxies_take_the_kernels_place_unless_the_kernel_was_asked_for(kind: str) -> None:
    fields = {
        "latency": {"delay_ms": 5},
        "jitter": {"delay_ms": 5, "spread_ms": 1},
        "reorder": {"percent": 5},
        "bandwidth": {"rate": "1mbit"},
        "loss": {"percent": 5},
    }[kind]
    either = spec(kind, **fields)
    instead = either.by_proxy()
    assert instead == spec(kind, by="proxy", **fields)
    assert (either.uses_proxy, either.required()) == (False, KINDS[kind].needs)
    assert (instead.uses_proxy, instead.required()) == (True, ())
    assert "by the kernel, or by the proxies" in either.warnings(SHAPE)[-1]
    assert f"by the proxies: {KINDS[kind].as_messages}" in instead.warnings(SHAPE)
    assert spec(kind, by="kernel", **fields).by_proxy() is None


def test_what_the_proxies_cannot_imitate_is_refused() -> None:
    assert spec("loss", percent=51).by_proxy() is None
    with pytest.raises(ValidationError, match="use `partition`"):
        spec("loss", percent=51, by="proxy")


def rules(**action: Any) -> tuple[RequestRule, ...]:
    return (RequestRule(id="r", **action),)


DELAY = rules(action="delay", delay_ms=100)


@pytest.mark.parametrize(
    ("links", "trips", "seen"),
    [
        (ONE_WAY, [101, 103, 105], True),
        (ONE_WAY, [1, 2, 3], False),
        (ONE_WAY, [201, 203, 205], False),
        (BOTH_WAYS, [201, 203, 205], True),
        (BOTH_WAYS, [101, 103, 105], False),
    ],
)
def test_a_delay_is_seen_in_each_direction(links: Any, trips: list[float], seen: bool) -> None:
    injection = DelayedMessages(links=links, rules=DELAY, delay_ms=100, baseline=((1, 2, 2.0),))
    assert injection.judge(LINK, ProbeAnswers(), echoes(*trips))[0] is seen


def test_a_busy_machine_before_the_delay_does_not_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a node starts, most requests wait for a processor; the quickest one says what the link takes."""
    injection = DelayedMessages(links=ONE_WAY, rules=DELAY, delay_ms=100)
    busy = ProbeAnswers({"a": echoes(2, 60, 70, 80, 90)})
    monkeypatch.setattr(DelayedMessages, "ask", lambda *_: {LINK: busy})
    before = injection.with_baseline(context(FakeCluster([quiet()], proxies=FakeProxies())))
    assert before.baseline == ((1, 2, 2.0),)
    assert before.judge(LINK, ProbeAnswers(), echoes(101, 103, 105))[0]


@pytest.mark.parametrize(
    ("trips", "seen"), [((200, 215, 230), True), ((20, 215, 230), False), ((150, 180, 190), False)]
)
def test_a_machine_that_was_slow_before_proves_a_delay_by_the_quickest_request(
    trips: tuple[float, ...], seen: bool
) -> None:
    injection = DelayedMessages(links=ONE_WAY, rules=DELAY, delay_ms=200, baseline=((1, 2, 190.0),))
    good, what = injection.judge(LINK, ProbeAnswers(), echoes(*trips))
    assert good is seen
    assert ("not one in less than 200 ms, 190 before" in what) is seen


def test_delays_that_do_not_vary_are_no_jitter() -> None:
    injection = DelayedMessages(links=ONE_WAY, rules=DELAY, delay_ms=100, spread_ms=50)
    even = [50 + 100 * number / 199 for number in range(200)]
    assert injection.judge(LINK, ProbeAnswers(), echoes(*even))[0]
    assert not injection.judge(LINK, ProbeAnswers(), echoes(*[100.0] * 200))[0]
    assert not injection.judge(LINK, ProbeAnswers(), echoes(*[400.0] * 200))[0]


def test_a_rate_is_seen_in_the_time_that_bytes_take() -> None:
    slow = SlowedMessages(links=ONE_WAY, rules=rules(action="bandwidth", bytes_per_second=100_000))
    how = slow.how(LINK)
    assert how.burst * how.request_bytes == pytest.approx(15_000, rel=0.01)
    assert slow.judge(LINK, ProbeAnswers({}, 400), echoes(150, 155, 160))[0]
    assert not slow.judge(LINK, ProbeAnswers({}, 400), echoes(3, 4, 5))[0]
    assert not slow.judge(LINK, ProbeAnswers({}, 400), echoes(300, 310, 320))[0]
    to_client = SlowedMessages(links=(Link(1, -1),), rules=slow.rules)
    assert to_client.how(Link(1, -1)).padding == 0, "the client asks, and responses are slow"
    back = SlowedMessages(links=(Link(2, 1),), rules=slow.rules)
    assert back.how(LINK).padding == 0
    assert back.how(LINK).burst * 400 == pytest.approx(15_000, rel=0.05)
    assert back.judge(LINK, ProbeAnswers({}, 400), echoes(150, 155, 160))[0]


def test_no_more_requests_are_quick_than_went_at_once() -> None:
    injection = ReorderedMessages(links=ONE_WAY, rules=DELAY, percent=25, delay_ms=20)
    assert injection.judge(LINK, ProbeAnswers(), echoes(*([2.0] * 250 + [22.0] * 750)))[0]
    assert not injection.judge(LINK, ProbeAnswers(), echoes(*([2.0] * 1000)))[0]
    assert injection.judge_counts(RuleCounts(1000, 750))[0]
    assert not injection.judge_counts(RuleCounts(1000, 1000))[0]
    assert not injection.judge_counts(RuleCounts())[0]


def test_no_fewer_requests_are_late_than_were_lost() -> None:
    injection = LostMessages(links=ONE_WAY, rules=rules(action="lose", share=0.2), percent=20)
    late = [2.0] * 800 + [202.0] * 160 + [602.0] * 40
    assert injection.judge(LINK, ProbeAnswers(), echoes(*late))[0]
    assert not injection.judge(LINK, ProbeAnswers(), echoes(*([2.0] * 1000)))[0]
    assert injection.judge_counts(RuleCounts(1000, 200))[0]
    assert not injection.judge_counts(RuleCounts(1000, 20))[0]


def test_the_proxies_counters_are_part_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    injection = DelayedMessages(links=ONE_WAY, rules=DELAY, delay_ms=100)
    monkeypatch.setattr(DelayedMessages, "ask", lambda *_: {LINK: ProbeAnswers({"a": echoes(101, 102)})})
    proxies = FakeProxies()
    at = context(FakeCluster([quiet()], proxies=proxies))
    assert injection.measure(at).what == "0 of 0 messages acted on"
    proxies.counted["r"] = {2: RuleCounts(5, 5)}
    evidence = injection.measure(at)
    assert evidence.seen
    assert evidence.what.startswith("by the proxies, 5 of 5 messages acted on: broker 1 and broker 2: ")


def test_lost_messages_are_sent_again_as_often_as_they_are_lost() -> None:
    (rule,) = rules(action="lose", share=0.25, seed=3)
    acted = [number for number in range(1, 4001) if rule.acts_on(number)]
    delays = [round(rule.delay_of(number), 3) for number in acted]
    assert set(delays) <= {0.2, 0.6, 1.4, 3.0, 6.2, 12.6}
    assert 900 < len(delays) < 1100
    assert 0.7 < delays.count(0.2) / len(delays) < 0.8
    assert 0.15 < delays.count(0.6) / len(delays) < 0.23


def test_a_link_without_an_answer_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    injection = DelayedMessages(links=ONE_WAY, rules=DELAY, delay_ms=100)
    monkeypatch.setattr(DelayedMessages, "ask", lambda *_: {LINK: ProbeAnswers()})
    evidence = injection.measure(context(FakeCluster([quiet()], proxies=FakeProxies())))
    assert not evidence.seen
    assert "broker 1 and broker 2: no request was answered" in evidence.what


def test_what_the_probe_printed_is_read() -> None:
    text = "echo 0 1 2000\necho 0 0 3000\nsize 424\nsent 2\n"
    found = parse_answers(text, ["a:1"])
    assert found == ProbeAnswers({"a:1": Echoes(2, ((1, 2000), (0, 3000)))}, 424)
    assert parse_answers("no connection to a:1", ["a:1"]) is None
    assert "'" not in message_probe._ASK, "it stands between single quotes"
    assert Asking(1, 1, 1, padding=5).request_bytes == len(message_probe._request(0, 5))
