"""The fault `requests`: what it accepts, its rule, and what its counters prove."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from kio.schema.errors import ErrorCode
from pydantic import TypeAdapter, ValidationError

from faults.proxied import apis
from faults.proxied.rules import RuleAdded
from faults.requests import Act, Requests, parse_act
from faults.schedules.entries import WrittenFault
from faults.targets.target_context import ClusterShape
from harness.cluster.proxy.bodies import newest_version
from harness.model.errors import FaultError
from harness.model.kafka_protocol import API_KEYS, ERROR_CODES, NEWER_THAN_KIO
from harness.model.request_rules import RuleCounts
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeProxies, context

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)


def written(text: str) -> Requests:
    """The fault as a file has it, with the bare word `on`."""
    fault = TypeAdapter(WrittenFault).validate_python({"requests": yaml.safe_load(text)})
    assert isinstance(fault, Requests)
    return fault


def cluster(proxies: FakeProxies | None = None) -> FakeCluster:
    return FakeCluster([quiet()], proxies=FakeProxies() if proxies is None else proxies)


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("delay 2 s", Act("delay", 2000.0)),
        ("delay 250ms", Act("delay", 250.0)),
        ("hold", Act("hold")),
        ("hold until heal", Act("hold")),
        ("drop", Act("drop")),
        ("disconnect before", Act("disconnect_before")),
        ("disconnect  after", Act("disconnect_after")),
        ("error NOT_ENOUGH_REPLICAS", Act("error", error="NOT_ENOUGH_REPLICAS")),
        ("duplicate", Act("duplicate")),
        ("reorder with next", Act("reorder_with_next")),
    ],
)
def test_what_is_done_is_written_in_words(text: str, act: Act) -> None:
    assert parse_act(text) == act


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{on: {api: EndTx}, do: drop}", "Kafka has no API 'EndTx': did you mean 'EndTxn'?"),
        ("{on: {api: Produce}, do: error NOT_ENOUGH_REPLICA}", "did you mean 'NOT_ENOUGH_REPLICAS'?"),
        ("{on: {api: Produce}, do: error NONE}", "Kafka has no error 'NONE'"),
        ("{on: {api: Produce}, do: explode}", "nothing that can be done with a request: write `delay 2 s`"),
        ("{on: {api: Produce}, do: delay 0 s}", "not above 0"),
        ("{on: {api: Produce}, do: delay 601 s}", "at most 600 s"),
        ("{on: {api: EndTxn, topic: t}, do: drop}", "requests of EndTxn name no topics"),
        ("{on: {api: Produce, partition: -1}, do: drop}", "greater than or equal to 0"),
        ("{on: {api: Produce, nth: 1, share: 0.5}, do: drop}", "either `nth` or `share`"),
        ("{on: {api: Produce}, do: drop, held: drop}", "`held: drop` is for `hold`"),
        ("{on: {api: Produce, direction: response}, do: duplicate}", "`duplicate` is for requests"),
        ("{on: {api: LeaderAndIsr}, do: error NOT_CONTROLLER}", "responses of LeaderAndIsr are not read"),
    ],
)
def test_what_cannot_be_done_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        written(text)
    assert says in str(refused.value)


def test_it_survives_being_written_and_read() -> None:
    one = written(
        "{on: {api: Fetch, from: {broker: 2}, to: {leader: 0}, partition: any, share: 0.5}, do: drop}"
    )
    assert Requests.model_validate(one.model_dump(mode="json", by_alias=True)) == one
    assert written(yaml.safe_dump(one.model_dump(mode="json", by_alias=True, exclude={"kind"}))) == one


def test_its_rule_names_nodes_topic_and_seed() -> None:
    one = written(
        "{on: {api: Fetch, client: 'broker-*', from: {followers: 0}, to: {leader: 0}, partition: 0, nth: 2},"
        " do: delay 2 s}"
    )
    injection = one.aim(context(cluster()))
    assert injection.nodes == (1,)
    (rule,) = injection.rules
    assert (rule.id, rule.action, rule.api, rule.delay_ms) == ("tag-1", "delay", ("Fetch",), 2000)
    assert (rule.from_nodes, rule.to_nodes, rule.client) == ((2, 3), (1,), "broker-*")
    assert (rule.topic, rule.topic_id, rule.partition, rule.nth) == ("t", "id of t", 0, 2)
    assert RuleAdded.model_validate(injection.model_dump(mode="json")) == injection


@pytest.mark.parametrize(
    ("on", "nodes"),
    [
        ("{api: Produce}", (1, 2, 3, 101)),
        ("{api: Produce, from: client, to: {broker: 2}}", (2,)),
        ("{api: Produce, direction: response, from: {broker: 3}, to: client}", (3,)),
        ("{api: Fetch, from: {broker: 2}}", (1, 2, 3, 101)),
    ],
)
def test_the_proxies_of_the_nodes_that_are_asked_act(on: str, nodes: tuple[int, ...]) -> None:
    assert written(f"{{on: {on}, do: drop}}").aim(context(cluster())).nodes == nodes


@pytest.mark.parametrize(
    "on", ["{api: Produce, to: client}", "{api: Produce, direction: response, from: client}"]
)
def test_clients_are_not_asked(on: str) -> None:
    with pytest.raises(ValueError, match="only nodes answer requests"):
        written(f"{{on: {on}, do: drop}}").warnings(SHAPE)


def test_a_target_inside_is_checked_like_any_other() -> None:
    with pytest.raises(ValueError, match="the brokers are 1 to 3"):
        written("{on: {api: Produce, to: {broker: 4}}, do: drop}").warnings(SHAPE)


HOLD = written("{on: {api: EndTxn, client: p1}, do: hold, held: drop}")


def test_it_is_in_place_when_every_proxy_has_the_rule() -> None:
    proxies = FakeProxies()
    injection = HOLD.aim(context(cluster(proxies)))
    injection.apply(context(cluster(proxies)))
    assert list(proxies.rules) == ["tag-1"]
    assert injection.verify(context(cluster(proxies))).what == "the rule is in place; 0 matched so far"
    proxies.without = (2,)
    assert "the proxy of broker 2" in injection.verify(context(cluster(proxies))).what


def test_held_requests_are_dropped_if_that_was_asked() -> None:
    proxies = FakeProxies({"tag-1": {1: RuleCounts(), 2: RuleCounts(3, 2, dropped=2)}})
    evidence = HOLD.aim(context(cluster(proxies))).heal(context(cluster(proxies)))
    assert proxies.removed == [("tag-1", "drop")]
    assert evidence.seen
    assert evidence.what == "hold: 2 of 3 that matched, 2 dropped"
    assert list(evidence.facts) == ["broker 2"]


def test_a_rule_that_matched_nothing_says_what_passed_since_it_was_aimed() -> None:
    proxies = FakeProxies(requests={("Produce", "p1"): 5, ("Fetch", "c"): 1})
    injection = HOLD.aim(context(cluster(proxies)))
    proxies.requests |= {
        ("Produce", "p1"): 1205,
        ("Metadata", "x"): 7,
        ("EndTxn", "p2"): 2,
        ("ApiVersions", ""): 1,
    }
    evidence = injection.heal(context(cluster(proxies)))
    assert not evidence.seen
    assert evidence.what == (
        "nothing matched; requests that passed instead: "
        "Produce of p1: 1,200, EndTxn of p2: 2, Metadata of x: 7, ApiVersions of (no client.id): 1"
    )


def test_matches_without_an_act_prove_nothing() -> None:
    proxies = FakeProxies({"tag-1": {1: RuleCounts(matched=2)}})
    one = written("{on: {api: EndTxn, nth: 3}, do: drop}")
    evidence = one.aim(context(cluster(proxies))).heal(context(cluster(proxies)))
    assert not evidence.seen
    assert "2 matched, and none" in evidence.what


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        (RuleCounts(2, 2, passed=2), "2 matched, and had no place for the error"),
        (RuleCounts(unread=3), "3 may have matched, but are of a version that is not read"),
    ],
)
def test_what_was_not_done_is_no_proof(counts: RuleCounts, says: str) -> None:
    proxies = FakeProxies({"tag-1": {1: counts}})
    one = written("{on: {api: Produce}, do: error NOT_ENOUGH_REPLICAS}")
    evidence = one.aim(context(cluster(proxies))).heal(context(cluster(proxies)))
    assert not evidence.seen
    assert evidence.what == says


def test_a_restarted_node_gets_the_rule_again() -> None:
    proxies = FakeProxies()
    injection = HOLD.aim(context(cluster(proxies)))
    assert not injection.restarted(context(cluster(proxies)), 1)
    proxies.without = (1,)
    assert injection.restarted(context(cluster(proxies)), 1)
    assert list(proxies.rules) == ["tag-1"]


def test_a_cluster_without_proxies_is_refused() -> None:
    with pytest.raises(FaultError, match="proxy: true"):
        HOLD.aim(context(FakeCluster([quiet()])))


@pytest.mark.parametrize(
    ("api", "version", "metadata", "says"),
    [
        ("ShareFetch", (4, 0), "kraft", "Kafka 4.0 does not speak ShareFetch, 4.1 is the first"),
        ("ShareFetch", (4, 1), "kraft", None),
        ("ShareFetch", (), "kraft", None),
        ("LeaderAndIsr", (3, 9), "kraft", "`metadata: kraft` does not speak LeaderAndIsr"),
        ("LeaderAndIsr", (3, 9), "zookeeper", None),
        ("BrokerHeartbeat", (3, 9), "zookeeper", "`metadata: zookeeper` does not speak BrokerHeartbeat"),
        ("Produce", (3, 3), "kraft", None),
    ],
)
def test_which_versions_speak_an_api(api: str, version: Any, metadata: str, says: str | None) -> None:
    found = apis.refusal(api, version, metadata)
    assert found is None if says is None else found is not None and says in found


@pytest.mark.parametrize(
    ("api", "version", "says"),
    [
        ("TxnOffsetCommit", (4, 4), "proxies cannot read version 6 of TxnOffsetCommit, which Kafka 4.4 has"),
        ("TxnOffsetCommit", (4, 5), "which Kafka 4.5 has"),
        ("TxnOffsetCommit", (4, 3), None),
        ("TxnOffsetCommit", (), None),
        ("Produce", (4, 4), None),
    ],
)
def test_which_bodies_cannot_be_read(api: str, version: Any, says: str | None) -> None:
    found = apis.unreadable(api, version)
    assert found is None if says is None else found is not None and says in found


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("{on: {api: TxnOffsetCommit}, do: hold}", False),
        ("{on: {api: TxnOffsetCommit, client: p1}, do: delay 2 s}", False),
        ("{on: {api: TxnOffsetCommit, partition: 0}, do: hold}", True),
        ("{on: {api: TxnOffsetCommit, topic: t}, do: drop}", True),
        ("{on: {api: TxnOffsetCommit}, do: error NOT_COORDINATOR}", True),
    ],
)
def test_what_depends_on_the_body(text: str, needs: bool) -> None:
    assert written(text).needs_body is needs


def test_what_kio_cannot_read_is_known() -> None:
    for api, (_, version) in NEWER_THAN_KIO.items():
        assert newest_version(API_KEYS[api]) == version - 1, f"kio reads {api} {version} now: drop its row"


def test_the_tables_name_apis_that_exist() -> None:
    assert {*apis.FIRST, *apis.KRAFT_ONLY, *apis.NAMING_TOPICS} <= set(API_KEYS)
    assert {code.name.upper() for code in ErrorCode} - {"NONE"} == set(ERROR_CODES)
