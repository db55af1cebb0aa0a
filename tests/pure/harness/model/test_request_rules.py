"""Rules of the proxy: what they fit, how often they act, and how they travel as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map

from harness.model.errors import BadInput
from harness.model.kafka_protocol import API_NAMES, ERROR_CODES, HEADERS_ONLY
from harness.model.request_rules import NamedPartition, RequestRule

pytestmark = pytest.mark.pure


def rule(**given: Any) -> RequestRule:
    return RequestRule(**{"id": "r", "action": "hold", **given})


def fits(one: RequestRule, **seen: Any) -> bool:
    usual = {"api": "Produce", "direction": "request", "client": "p1", "sender": -1, "receiver": 2}
    return one.fits(**{**usual, **seen})


def test_the_tables_are_those_of_kio() -> None:
    kios = {key: "".join(word.capitalize() for word in name.split("_")) for key, name in api_key_map.items()}
    assert {key: name for key, name in API_NAMES.items() if name not in HEADERS_ONLY} == kios
    assert set(ERROR_CODES) == {code.name.upper() for code in ErrorCode} - {"NONE"}


@pytest.mark.parametrize(
    ("given", "seen", "expected"),
    [
        ({}, {}, True),
        ({"api": ("Fetch", "Produce")}, {}, True),
        ({"api": ("Fetch",)}, {}, False),
        ({"direction": "response"}, {}, False),
        ({"direction": "response"}, {"direction": "response"}, True),
        ({"client": "p?"}, {}, True),
        ({"client": "P1"}, {}, False),
        ({"client": "p1"}, {"client": None}, False),
        ({"client": "*"}, {"client": None}, True),
        ({"from_nodes": (-1,)}, {}, True),
        ({"from_nodes": (1, 3)}, {}, False),
        ({"to_nodes": (2,)}, {}, True),
        ({"to_nodes": (1,)}, {}, False),
        ({}, {"client": "kafka-chaos"}, False),
        ({"client": "kafka-chaos"}, {"client": "kafka-chaos"}, True),
    ],
)
def test_what_header_and_connection_tell(given: Any, seen: Any, expected: bool) -> None:
    assert fits(rule(**given), **seen) is expected


def test_a_body_fits_by_name_or_id_and_partition_of_the_same_part() -> None:
    partitions = [NamedPartition("a", None, 0), NamedPartition("b", None, 1), NamedPartition(None, "id-c", 2)]
    assert rule().fits_body([])
    assert not rule(topic="a").fits_body([])
    assert rule(topic="a").fits_body(partitions)
    assert not rule(topic="a", partition=1).fits_body(partitions)
    assert rule(topic="c", topic_id="id-c", partition=2).fits_body(partitions)
    assert not rule(topic="c").fits_body(partitions)
    assert rule(partition=1).fits_body(partitions)
    assert not rule(partition=3).fits_body(partitions)


def test_how_often_it_acts() -> None:
    def acting(**given: Any) -> list[int]:
        return [number for number in range(1, 7) if rule(**given).acts_on(number)]

    assert acting() == [1, 2, 3, 4, 5, 6]
    assert acting(nth=3) == [3]
    assert acting(first=2) == [1, 2]
    assert acting(share=0.0) == []


def test_a_share_is_drawn_from_the_seed() -> None:
    def drawn(seed: int) -> list[bool]:
        return [rule(share=0.25, seed=seed).acts_on(number) for number in range(1, 2001)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 400 < sum(drawn(1)) < 600


def test_a_delay_varies_by_its_jitter_and_is_never_negative() -> None:
    one = rule(action="delay", delay_ms=10, jitter_ms=20)
    delays = [one.delay_of(number) for number in range(1, 500)]
    assert min(delays) == 0
    assert 0.025 < max(delays) <= 0.03
    assert rule(action="delay", delay_ms=2000).delay_of(1) == 2


@pytest.mark.parametrize(
    "given",
    [
        {"api": ("Produce", "Fetch"), "from_nodes": (-1,), "topic": "t", "partition": 0, "nth": 2},
        {"action": "error", "error": "NOT_ENOUGH_REPLICAS", "api": ("Produce",), "share": 0.5, "seed": 7},
        {"action": "delay", "delay_ms": 5, "direction": "response", "client": "a*"},
        {"action": "bandwidth", "bytes_per_second": 1000},
    ],
)
def test_it_comes_back_from_json(given: Any) -> None:
    one = rule(**given)
    assert RequestRule.from_json(json.loads(json.dumps(one.to_json()))) == one


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"api": ("Prodcue",)}, "did you mean Produce?"),
        ({"action": "error", "api": ("Produce",), "error": "NOT_ENOUGH_REPLICA"}, "NOT_ENOUGH_REPLICAS?"),
        ({"action": "error", "api": ("Produce",)}, "an error code with"),
        ({"action": "error", "error": "NOT_CONTROLLER"}, "in `api`"),
        ({"error": "NOT_CONTROLLER"}, "and with no other"),
        ({"action": "error", "api": ("LeaderAndIsr",), "error": "NOT_CONTROLLER"}, "can be read"),
        ({"api": ("LeaderAndIsr",), "topic": "t"}, "can be read"),
        ({"action": "duplicate", "direction": "response"}, "in their order"),
        ({"action": "delay"}, "delay_ms or jitter_ms"),
        ({"delay_ms": 1}, "delay_ms or jitter_ms"),
        ({"action": "bandwidth"}, "bytes_per_second"),
        ({"action": "bandwidth", "bytes_per_second": 0}, "from 1 on"),
        ({"nth": 0}, "nth from 1 on"),
        ({"nth": 1, "first": 1}, "both"),
        ({"share": 1.1}, "from 0 to 1"),
        ({"id": ""}, "an id"),
    ],
)
def test_what_contradicts_itself_is_refused(given: Any, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        rule(**given)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"id": "r"}, "action"),
        ({"id": "r", "action": "explode"}, "action: 'explode'"),
        ({"id": "r", "action": "hold", "nth": "2"}, "nth: '2'"),
        ({"id": "r", "action": "hold", "share": True}, "share: True"),
        ({"id": "r", "action": "hold", "api": "Produce"}, "api: 'Produce'"),
        ({"id": "r", "action": "hold", "colour": 1}, "no such field"),
    ],
)
def test_json_of_other_fields_or_types_is_refused(given: Any, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        RequestRule.from_json(given)
    assert says in str(refused.value)
