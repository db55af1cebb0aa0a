"""What the Java client is given, and what it cannot do."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.errors import BadInput
from harness.spec.experiment_files import parse
from workloads.java.java_settings import java_problem, java_properties
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec

pytestmark = pytest.mark.pure

EXPERIMENT = """
name: java
title: t
workload: {client: java, producers: 1, rate: 100%s}
steps: [{write: {name: steady, seconds: 1}}]
arms: [{name: only, producer: {acks: all%s}}]
"""


def properties(**given: Any) -> dict[str, str]:
    return java_properties(ProducerSettings.model_validate(given), "b:1")


def test_nothing_that_matters_is_left_to_the_tool() -> None:
    assert properties() == {
        "bootstrap.servers": "b:1", "retries": "2147483647", "linger.ms": "5", "request.timeout.ms": "29995",
        "acks": "all", "enable.idempotence": "false", "delivery.timeout.ms": "30000",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"delivery.timeout.ms": 120_000}, {"request.timeout.ms": "30000"}),
        ({"delivery.timeout.ms": 1000, "linger.ms": 10.0}, {"request.timeout.ms": "990", "linger.ms": "10"}),
        ({"delivery.timeout.ms": 1}, {"request.timeout.ms": "1", "linger.ms": "0"}),
        ({"request.timeout.ms": 500}, {"request.timeout.ms": "500"}),
        ({"retries": 0, "enable.idempotence": False}, {"retries": "0", "enable.idempotence": "false"}),
        ({"enable.idempotence": True}, {"enable.idempotence": "true"}),
        ({"extra": {"max.block.ms": 5, "a.b": True}}, {"max.block.ms": "5", "a.b": "true"}),
    ],
)  # fmt: skip
def test_properties(given: dict[str, Any], wanted: dict[str, str]) -> None:
    found = properties(**given)
    assert {name: found[name] for name in wanted} == wanted
    assert int(found["delivery.timeout.ms"]) >= int(found["linger.ms"]) + int(found["request.timeout.ms"]) - 1


@pytest.mark.parametrize(
    ("workload", "producer", "word"),
    [
        ({"transactions": {"records": 5}}, {}, "transactions"),
        ({"producers": 17}, {}, "producers"),
        ({}, {"socket.timeout.ms": 100}, "socket.timeout.ms"),
        ({}, {"linger.ms": 0.5}, "linger.ms"),
    ],
)
def test_what_the_java_client_cannot_do_is_refused(
    workload: dict[str, Any], producer: dict[str, Any], word: str
) -> None:
    assert word in str(java_problem(WorkloadSpec(**workload), ProducerSettings(**producer)))
    more = "".join(f", {name}: {value}" for name, value in workload.items() if name != "producers")
    settings = "".join(f", {name}: {value}" for name, value in producer.items())
    text = EXPERIMENT % (more, settings)
    with pytest.raises(BadInput, match=word):
        parse(text.replace("producers: 1", "producers: 17") if word == "producers" else text, "test")


def test_what_it_can_do_is_not() -> None:
    allowed = ", keys: 7, record_size: 50, spread: client"
    assert parse(EXPERIMENT % (allowed, ", linger.ms: 3"), "test").workload.client == "java"
    librdkafka = EXPERIMENT.replace("client: java", "client: librdkafka") % (
        ", record_size: 50",
        ", linger.ms: 0.5",
    )
    assert parse(librdkafka, "test").workload.client == "librdkafka"
