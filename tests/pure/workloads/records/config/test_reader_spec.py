"""Live readers as data: names, defaults, contradictions."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.model.errors import BadInput
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.reader.readers import check_settings

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"members": 2}, "there is no group"),
        ({"commits": "auto"}, "only a group has offsets"),
        ({"protocol": "consumer"}, "protocol is given, but there is no group"),
        ({"static": True}, "static is given, but there is no group"),
        ({"by_hand": True}, "by_hand is given, but there is no group"),
        ({"group": "g", "by_hand": True, "static": True}, "so leave static out"),
        ({"group": "g", "by_hand": True, "assignor": "range"}, "so leave assignor out"),
        ({"group": "g", "by_hand": True, "protocol": "consumer"}, "so leave protocol out"),
        ({"extra": {"group.protocol": "consumer"}}, "set by the reader itself"),
        ({"restarts": [3, 2]}, "in order of time"),
        ({"restarts": [-1]}, "greater than or equal to 0"),
        ({"extra": {"client.rack": "r1"}}, "set by the reader itself"),
        ({"isolation": "serializable"}, "read_committed"),
        ({"name": "A b"}, "should match pattern"),
        ({"rak": "r1"}, "Extra inputs are not permitted"),
        ({"client": "java", "reset": "earliest"}, "reads in a group"),
        ({"client": "java", "group": "g"}, "set `reset: earliest` or `latest`"),
        ({"client": "java", "group": "g", "reset": "latest", "commits": "manual"}, "set `commits: auto`"),
        ({"client": "java", "group": "g", "reset": "latest", "rack": "r1"}, "leave `rack` out"),
    ],
)
def test_contradictions_are_refused_in_clear_words(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ReaderSpec.model_validate({"name": "one", **given})


def test_members_have_names_of_their_own() -> None:
    alone = ReaderSpec(name="alone")
    assert alone.member_names == ("alone",)
    group = ReaderSpec(name="work", group="g", members=3)
    assert group.member_names == ("work-0", "work-1", "work-2")


def test_what_reaches_the_client() -> None:
    plain = ReaderSpec(name="plain").properties("a:1", "g")
    assert "client.rack" not in plain
    assert (plain["isolation.level"], plain["enable.auto.commit"]) == ("read_uncommitted", False)
    near = ReaderSpec(
        name="near",
        group="g",
        rack="r2",
        isolation="read_committed",
        commits="auto",
        commit_every=0.5,
        extra={"session.timeout.ms": 6000},
    ).properties("a:1", "g")
    assert near["client.rack"] == "r2"
    assert (near["isolation.level"], near["enable.auto.commit"]) == ("read_committed", True)
    assert (near["auto.commit.interval.ms"], near["session.timeout.ms"]) == (500, "6000")
    assert near["auto.offset.reset"] == "error"


@pytest.mark.parametrize(
    ("given", "incremental", "expected"),
    [
        ({}, False, {"partition.assignment.strategy": "range"}),
        ({"assignor": "roundrobin"}, False, {"partition.assignment.strategy": "roundrobin"}),
        ({"assignor": "cooperative-sticky"}, True, {"partition.assignment.strategy": "cooperative-sticky"}),
        ({"protocol": "consumer"}, True, {"group.protocol": "consumer"}),
        (
            {"protocol": "consumer", "static": True},
            True,
            {"group.protocol": "consumer", "group.instance.id": "work-1"},
        ),
        (
            {"static": True},
            False,
            {"group.instance.id": "work-1", "partition.assignment.strategy": "range"},
        ),
    ],
)
def test_how_a_member_joins(given: dict[str, Any], incremental: bool, expected: dict[str, str]) -> None:
    spec = ReaderSpec.model_validate({"name": "work", "group": "g", "members": 2, **given})
    names = (*("group.protocol", "group.instance.id", "partition.assignment.strategy"), "session.timeout.ms")
    made = spec.properties("a:1", "g", member="work-1")
    assert {name: made[name] for name in names if name in made} == expected
    assert spec.incremental is incremental


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"assignor": "range"},
            "`partition.assignment.strategy` is not supported for `group.protocol=consumer`",
        ),
        ({"extra": {"session.timeout.ms": 6000}}, "`session.timeout.ms` is not supported"),
        ({"extra": {"heartbeat.interval.ms": 600}}, "`heartbeat.interval.ms` is not supported"),
    ],
)
def test_what_the_client_refuses_is_told_in_its_own_words(given: dict[str, Any], words: str) -> None:
    spec = ReaderSpec.model_validate({"name": "work", "group": "g", "protocol": "consumer", **given})
    with pytest.raises(BadInput) as caught:
        check_settings(spec)
    assert words in str(caught.value.found)
    assert "reader work: protocol=consumer" in str(caught.value.where)
    check_settings(ReaderSpec(name="work", group="g", protocol="consumer", static=True))


def test_what_reaches_the_java_client() -> None:
    java = {"name": "work", "group": "g", "client": "java", "reset": "latest", "commits": "auto"}
    spec = ReaderSpec.model_validate({**java, "protocol": "consumer", "batch": 7})
    made = spec.properties("a:1", "g", {"sasl.username": "of librdkafka"}, member="work-0")
    assert made == {
        "bootstrap.servers": "a:1",
        "group.id": "g",
        "isolation.level": "read_uncommitted",
        "auto.offset.reset": "latest",
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 1000,
        "fetch.max.wait.ms": 100,
        "group.protocol": "consumer",
        "max.poll.records": 7,
    }
    assert spec.apart
    assert spec.library == "kafka-clients"
    assert ReaderSpec.model_validate({**java, "version": "4.1.1"}).library == "kafka-clients 4.1.1"
    assert ReaderSpec(name="one", version="2.13.0").library == "librdkafka"
    check_settings(spec)
    classic = ReaderSpec.model_validate({**java, "assignor": "cooperative-sticky"}).properties("a:1", "g")
    assert classic["partition.assignment.strategy"].endswith(".CooperativeStickyAssignor")
