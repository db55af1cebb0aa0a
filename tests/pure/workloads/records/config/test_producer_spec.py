"""Producer settings and workload specs: names, defaults, contradictions."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec

pytestmark = pytest.mark.pure


def settings(**given: Any) -> ProducerSettings:
    return ProducerSettings.model_validate(given)


@pytest.mark.parametrize(
    ("given", "acks"),
    [(0, "0"), (1, "1"), (-1, "all"), ("-1", "all"), ("ALL", "all"), ("all", "all"), ("0", "0")],
)
def test_acks_in_all_its_spellings(given: object, acks: str) -> None:
    assert settings(acks=given).acks == acks


@pytest.mark.parametrize("given", [2, "two", True, None, 1.0])
def test_other_acks_are_refused(given: object) -> None:
    with pytest.raises(ValidationError):
        settings(acks=given)


def test_only_what_is_set_reaches_the_client() -> None:
    assert settings().to_librdkafka("a:1") == {
        "bootstrap.servers": "a:1",
        "acks": "all",
        "enable.idempotence": False,
        "delivery.timeout.ms": 30_000,
    }


def test_kafkas_names_and_ours_both_work() -> None:
    by_alias = settings(
        **{
            "enable.idempotence": True,
            "max.in.flight.requests.per.connection": 5,
            "linger.ms": 0,
            "compression.type": "zstd",
        }
    )
    by_name = settings(enable_idempotence=True, max_in_flight=5, linger_ms=0, compression_type="zstd")
    assert by_alias == by_name
    assert by_alias.to_librdkafka("a:1")["max.in.flight.requests.per.connection"] == 5


def test_extra_passes_any_property_as_text() -> None:
    made = settings(extra={"queue.buffering.max.messages": 10, "socket.keepalive.enable": True})
    assert made.to_librdkafka("a:1")["queue.buffering.max.messages"] == "10"
    assert made.extra["socket.keepalive.enable"] == "true"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"enable.idempotence": True, "acks": 1}, "needs acks=all"),
        ({"enable.idempotence": True, "max.in.flight.requests.per.connection": 6}, "at most 5"),
        ({"enable.idempotence": True, "retries": 0}, "needs retries above 0"),
        ({"extra": {"acks": "1"}}, "has a field of its own"),
        ({"extra": {"linger.ms": "1"}}, "has a field of its own"),
        ({"extra": {"bootstrap.servers": "x:1"}}, "set by the workload itself"),
        ({"retrys": 3}, "Extra inputs are not permitted"),
    ],
)
def test_contradictions_are_refused_in_clear_words(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings(**given)


def test_a_single_attempt_is_proved_only_without_retries_and_before_the_backoff() -> None:
    assert settings().single_attempt_ns() == 0
    assert settings(retries=3).single_attempt_ns() == 0
    assert settings(retries=0).single_attempt_ns() == 80_000_000
    assert settings(retries=0, extra={"retry.backoff.ms": 1000}).single_attempt_ns() == 800_000_000
    assert settings(retries=0, extra={"retry.backoff.max.ms": 20}).single_attempt_ns() == 20_000_000
    assert settings(retries=0, extra={"retry.backoff.ms": "x"}).single_attempt_ns() == 0


def test_specs_are_frozen_and_survive_json() -> None:
    made = settings(acks=1, linger_ms=2.5)
    with pytest.raises(ValidationError):
        made.acks = "0"  # type: ignore[misc]
    assert ProducerSettings.model_validate_json(made.model_dump_json(by_alias=True)) == made


@pytest.mark.parametrize(
    "given",
    [
        {"producers": 0},
        {"record_size": 27},
        {"keys": 0},
        {"rate": 0},
        {"rate": float("inf")},
        {"x": 1},
        {"spread": "odd"},
        {"transactions": {"records": 0}},
        {"transactions": {"abort": 1.1}},
    ],
)
def test_impossible_workloads_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WorkloadSpec.model_validate(given)


def test_workload_defaults() -> None:
    assert WorkloadSpec().model_dump() == {
        "producers": 1,
        "record_size": 100,
        "keys": None,
        "rate": None,
        "spread": "even",
        "payload": None,
        "transactions": None,
        "client": "librdkafka",
        "process": None,
        "driven": None,
        "own": None,
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"client": "own", "keys": 3}, "your program decides what it writes: leave keys out"),
        ({"client": "own", "rate": 5, "spread": "client"}, "leave rate, spread out"),
        ({"client": "own", "payload": {"json": {"id": "$identity"}}}, "`payload` is not possible"),
        ({"own": {"transactional": True}}, "`own` applies to `client: own` only"),
    ],
)
def test_what_own_producers_cannot_have(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        WorkloadSpec.model_validate(given)


def test_own_producers_may_be_transactional() -> None:
    assert not WorkloadSpec.model_validate({"client": "own", "producers": 2}).transactional
    own = WorkloadSpec.model_validate({"client": "own", "own": {"transactional": True}})
    assert own.transactional
    assert WorkloadSpec.model_validate(own.model_dump(by_alias=True)) == own
