"""What an audit says that librdkafka refuses, librdkafka refuses; and the near misses it takes."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from harness.model.config.properties import parse_properties
from harness.tools.audit.audit import RULES
from harness.tools.audit.known_settings import ClientLibrary, SettingKind, known_settings
from harness.tools.audit.rule import Severity
from harness.tools.audit.setting_values import expected_values
from tests.support.audit_cases import CASES
from workloads.records.clients import client_logger

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
    with pytest.raises(KafkaException, match=r"must |requires|Invalid|not supported|Unsupported"):
        start(bad)
    start(near_miss)
    assert rule in REFUSED


def values_of_each_case() -> list[tuple[SettingKind, str, str]]:
    """Every value of librdkafka that the catalogue has, as it is there, in upper case and in title case."""
    return [
        (kind, name, value)
        for name, known in known_settings().items()
        for (client, kind), values in known.values.items()
        if client is ClientLibrary.LIBRDKAFKA and values.startswith(("string ", "word", "list "))
        for one in values.partition(" ")[2].split("|")
        for value in {one, one.upper(), one.title()}
    ]


def test_librdkafka_tells_upper_and_lower_case_apart_where_the_catalogue_says() -> None:
    for kind, name, value in values_of_each_case():
        config = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, name: value}
        refused = False
        try:
            if kind is SettingKind.CONSUMER:
                Consumer({**config, "group.id": "g"}, logger=client_logger()).close()
            else:
                Producer(config, logger=client_logger())
        except (KafkaException, ValueError) as error:
            # Others, such as a security.protocol without a mechanism, are not about the value.
            refused = re.search(r"Invalid value|Unsupported partition", str(error)) is not None
        expected = expected_values(name, value, ClientLibrary.LIBRDKAFKA, {kind})
        assert refused == (expected is not None), (name, value)


def test_all_rules_about_librdkafka_were_tried() -> None:
    about = {rule.id for rule in RULES if rule.client is ClientLibrary.LIBRDKAFKA and rule.id in REFUSED}
    assert about <= {rule for rule, _, _ in TRIED}
