"""Wait steps on requests read the counters of the proxies."""

from __future__ import annotations

import pytest

from faults.requests import Requests
from harness.model.request_rules import RuleCounts
from harness.run.steps.request_counters import RequestCounters
from harness.spec.step import Step
from harness.spec.steps import Wait
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeProxies, context

pytestmark = pytest.mark.pure


def wait(**fields: object) -> Wait:
    return Wait.model_validate(fields)


def test_requests_that_were_sent_are_counted_from_the_beginning() -> None:
    proxies = FakeProxies(requests={("Produce", "p1"): 7})
    seen = wait(request={"api": "EndTxn"}, seen=2)
    steps = [Step(wait=seen), Step(wait=wait(isr=3)), Step(wait=seen)]
    at = context(FakeCluster([quiet()], proxies=proxies))
    with RequestCounters(steps, lambda: at) as counters:
        (rule,) = proxies.rules.values()
        assert (rule.action, rule.api) == ("count", ("EndTxn",))
        proxies.counted[rule.id] = {1: RuleCounts(matched=1)}
        assert counters.missing(seen, ()) == "1 were sent; requests so far: Produce of p1: 7"
        proxies.counted[rule.id][2] = RuleCounts(matched=1)
        assert counters.missing(seen, ()) is None
    assert proxies.removed == [(rule.id, "release")]


def test_held_requests_are_those_of_open_faults_on_such_requests() -> None:
    proxies = FakeProxies({"tag-1": {1: RuleCounts(2, 2, held=1)}})
    at = context(FakeCluster([quiet()], proxies=proxies))
    held = wait(request={"api": "EndTxn", "client": "p1"}, held=1)
    with RequestCounters([Step(wait=held)], lambda: at) as counters:
        assert not proxies.rules, "nothing has to be counted"
        fault = Requests.model_validate({"on": {"api": "EndTxn", "client": "p1"}, "do": "hold"}).aim(at)
        other = Requests.model_validate({"on": {"api": "EndTxn", "client": "p2"}, "do": "hold"}).aim(at)
        assert counters.missing(held, [fault]) is None
        assert counters.missing(held, [other]) == "0 held by 0 open fault(s) on such requests"
        proxies.counted = {}
        assert counters.missing(held, [fault]) == "0 held by 1 open fault(s) on such requests"


def test_a_cluster_without_proxies_is_left_alone_if_no_step_asks() -> None:
    with RequestCounters([Step(wait=wait(isr=3))], lambda: context(FakeCluster([quiet()]))):
        pass
