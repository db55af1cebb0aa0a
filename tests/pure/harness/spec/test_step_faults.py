"""Steps on single requests: they turn the proxies on, and what no broker speaks is refused before a run."""

from __future__ import annotations

import pytest

from harness.model.errors import BadInput
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse
from harness.spec.run_plan import lines, plan_of

pytestmark = pytest.mark.pure


def experiment(*steps: str, cluster: str = "{}") -> Experiment:
    listed = "\n".join(f"- {step}" for step in steps)
    text = f"""
name: by-request
title: t
cluster: {cluster}
workload: {{client: driven, driven: {{transactional: true}}}}
steps:
{listed}
- drive: {{name: one, by: p1, do: [begin, send: {{}}, commit]}}
arms: [{{name: one}}]
"""
    return parse(text, "by-request.yaml")


HOLD = "inject: {requests: {on: {api: EndTxn, client: p1}, do: hold}}"


def test_the_proxies_are_on_where_a_step_needs_them() -> None:
    assert not experiment("sleep: {seconds: 1}").cluster.proxy
    one = experiment(HOLD)
    assert one.cluster.proxy
    assert Experiment.model_validate_json(one.model_dump_json(by_alias=True)) == one
    assert experiment("wait: {request: {api: Produce}, seen: 1}").cluster.proxy
    assert experiment("inject: {loss: {target: {leader: 0}, percent: 5, by: proxy}}").cluster.proxy
    assert not experiment("inject: {loss: {target: {leader: 0}, percent: 5}}").cluster.proxy


def test_the_plan_tells_of_proxies_and_of_requests() -> None:
    told = list(lines(plan_of(experiment(HOLD, "wait: {request: {api: EndTxn}, held: 1}"), 0)))
    assert told[0].endswith("a proxy before each node")
    assert any("requests on EndTxn client p1, do hold" in line for line in told)
    assert "step 1: wait until 1 of EndTxn are held, 30 s at most" in told


@pytest.mark.parametrize(
    ("steps", "cluster", "says"),
    [
        (["inject: {requests: {on: {api: ShareFetch}, do: drop}}"], "{version: 4.0.0}", "4.1 is the first"),
        (["wait: {request: {api: ShareFetch}, seen: 1}"], "{version: 4.0.0}", "steps[0].wait.request.api"),
        (
            ["inject: {requests: {on: {api: Vote}, do: drop}}"],
            "{version: 3.9.2, metadata: zookeeper}",
            "does not speak Vote",
        ),
        (
            ["inject: {requests: {on: {api: TxnOffsetCommit, partition: 0}, do: hold}}"],
            "{version: 4.4.0}",
            "version 6 of TxnOffsetCommit, which Kafka 4.4",
        ),
        (
            ["wait: {request: {api: TxnOffsetCommit, topic: t}, seen: 1}"],
            "{version: 4.4.0}",
            "steps[0].wait.request",
        ),
        (["wait: {request: {api: EndTxn}, held: 1}"], "{}", "no earlier step holds EndTxn"),
        (
            ["inject: {requests: {on: {api: EndTxn}, do: drop}}", "wait: {request: {api: EndTxn}, held: 1}"],
            "{}",
            "no earlier step holds EndTxn",
        ),
        ([HOLD, "wait: {request: {api: EndTxn, client: p2}, held: 1}"], "{}", "no earlier step holds"),
        (["wait: {request: {api: Produce}}"], "{}", "either `seen: N` or `held: N`"),
        (["wait: {replicated: true, seen: 1}"], "{}", "either `seen: N` or `held: N`"),
        (["wait: {request: {api: Produce, nth: 2}, seen: 1}"], "{}", "leave `nth` and `share` out"),
        (["inject: {requests: {on: {api: Produce, to: {broker: 7}}, do: drop}}"], "{}", "brokers are 1 to 3"),
    ],
)
def test_what_cannot_be_is_refused(steps: list[str], cluster: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        experiment(*steps, cluster=cluster)
    assert says in str(refused.value)


def test_what_cannot_be_read_may_still_be_held_or_dropped() -> None:
    hold = "inject: {requests: {on: {api: TxnOffsetCommit, client: p1}, do: hold}}"
    assert experiment(hold, cluster="{version: 4.4.0}").cluster.proxy
    by_partition = hold.replace("client: p1", "partition: 0")
    assert experiment(by_partition, cluster="{version: 4.3.1}").cluster.proxy
