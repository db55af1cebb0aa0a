"""What an audit says that librdkafka refuses, librdkafka refuses; and the near misses it takes."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from harness.audit.audit import RULES
from harness.audit.known_settings import ClientLibrary
from harness.audit.rule import Severity
from harness.config.properties import parse_properties
from tests.pure.harness.audit.test_audit import CASES

pytestmark = pytest.mark.mock

REFUSED = {rule.id for rule in RULES if rule.severity is Severity.REFUSED} - {"transaction-timeout"}
"""The last one is refused by brokers."""
TRIED = [
    (rule, bad, near_miss)
    for rule, client, bad, near_miss in CASES
    if rule in REFUSED and client is ClientLibrary.LIBRDKAFKA
]


def start(text: str) -> None:
    given = {entry.name: entry.value for entry in parse_properties(text.replace("; ", "\n"), "f")}
    config = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **given}
    if "group.id" in given:
        Consumer(config).close()
    else:
        Producer(config)


@pytest.mark.parametrize(("rule", "bad", "near_miss"), TRIED)
def test_the_client_refuses_it(rule: str, bad: str, near_miss: str) -> None:
    with pytest.raises(KafkaException, match=r"must be|requires|Invalid|not supported"):
        start(bad)
    start(near_miss)
    assert rule in REFUSED


def test_all_rules_about_librdkafka_were_tried() -> None:
    about = {rule.id for rule in RULES if rule.client is ClientLibrary.LIBRDKAFKA and rule.id in REFUSED}
    assert about <= {rule for rule, _, _ in TRIED}
