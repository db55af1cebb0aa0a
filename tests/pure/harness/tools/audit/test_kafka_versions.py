"""What an audit says for one version of Kafka and not for another. The values were tried with the Java
clients of these versions, and are those of their ConfigDefs."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.config.properties import parse_properties, read_properties
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput
from harness.tools.audit.audit import audit
from harness.tools.audit.audit_text import lines
from harness.tools.audit.kafka_version import NEWEST, numbers, read_version, version_or_newest
from harness.tools.audit.known_settings import ClientLibrary, SettingKind, known_settings
from harness.tools.audit.setting_values import expected_values
from tests.support.command_line import call

pytestmark = pytest.mark.pure

CASES = Path("tests/support/cases")
IN_FLIGHT = "acks=all; max.in.flight.requests.per.connection=6"
VERSIONS: list[tuple[str, str, str, str]] = [
    ("minisr-above-copies", "replication.factor=1; min.insync.replicas=2", "3.6.2", "3.7.0"),
    ("minisr-capped", "replication.factor=1; min.insync.replicas=2", "3.7.0", "3.6.2"),
    ("minisr-all-copies", "replication.factor=2; min.insync.replicas=3", "3.7", "3.6"),
    ("minisr-of-broker-file", "process.roles=broker; min.insync.replicas=2", "4.1.0", "4.0.1"),
    ("default-idempotence-in-flight", IN_FLIGHT, "4.0.0", "3.9.2"),
    ("idempotence-switched-off", IN_FLIGHT, "3.9.2", "4.0.0"),
    ("idempotence-switched-off", "acks=1", "3.1.1", "3.1.0"),
    ("idempotence-switched-off", "acks=1", "3.0", "2.8"),
    ("not-idempotent", "acks=all", "3.0.0", "3.0.1"),
    ("not-idempotent", "linger.ms=1", "3.1.0", "3.1.2"),
    ("acks-1", "linger.ms=1", "2.8.2", "3.0.0"),
    ("delivery-timeout-java", "delivery.timeout.ms=30003; request.timeout.ms=30000", "4.0.0", "3.9.2"),
    ("heartbeat", "group.id=g; heartbeat.interval.ms=20000", "2.8.2", "3.1.2"),
    ("new-protocol-java", "group.id=g; group.protocol=consumer; session.timeout.ms=9000", "4.0", "3.9"),
    ("transactions-above-copies", "transaction.state.log.replication.factor=1", "3.6", "3.7"),
    ("share-state-one-copy", "share.coordinator.state.topic.min.isr=1", "4.0", "3.9"),
    ("remote-log-one-copy", "rlmm.config.remote.log.metadata.topic.replication.factor=1", "3.6", "3.5"),
    ("value", "group.id=g; auto.offset.reset=by_duration:PT1H", "3.9.2", "4.0.0"),
    ("value", "security.protocol=sasl_plaintext; acks=all", "3.4.1", "3.5.2"),
]
"""A rule, settings for which it speaks in the first version, and not in the second."""


def said(text: str, kafka: str) -> set[str]:
    entries = parse_properties(text.replace("; ", "\n"), "my.properties")
    return {one.rule for one in audit(entries, ClientLibrary.JAVA, kafka).findings}


@pytest.mark.parametrize(("rule", "settings", "with_it", "without"), VERSIONS)
def test_a_rule_is_of_its_versions(rule: str, settings: str, with_it: str, without: str) -> None:
    assert rule in said(settings, with_it)
    assert rule not in said(settings, without)


def test_an_idempotent_producer_has_acks_all_in_every_version() -> None:
    for kafka in ("2.8", "3.0.0", "4.3"):
        assert said("enable.idempotence=true", kafka) == set()
        assert "idempotence-acks" in said("enable.idempotence=true; acks=1", kafka)


def test_a_topic_with_fewer_replicas_than_its_minimum_is_a_risk_since_3_7() -> None:
    entries = read_properties(CASES / "b16-rf1-minisr2.properties")
    found = audit(entries)
    assert (found.exit_code(), {one.rule for one in found.findings}) == (0, {"minisr-capped", "one-copy"})
    assert next(one for one in found.findings if one.rule == "minisr-capped").versions == "since Kafka 3.7"
    before = audit(entries, kafka="3.6.2")
    assert (before.exit_code(), before.findings[0].versions) == (1, "before Kafka 3.7")
    assert "no send can ever succeed" in before.findings[0].says


def test_a_default_says_of_which_versions_it_is() -> None:
    def shown(kafka: str) -> str:
        text = "group.id=g\nheartbeat.interval.ms=50000\n"
        return (
            audit(parse_properties(text, "f"), ClientLibrary.JAVA, kafka)
            .findings[0]
            .settings["session.timeout.ms"]
        )

    assert shown("2.8") == "10000 (default before Kafka 3.0)"
    assert shown("4.3.1") == "45000 (default since Kafka 3.0)"


def test_a_name_of_another_version_is_told_and_no_nearest_name_offered() -> None:
    text = "zookeeper.connect=z:2181\nshare.coordinator.threads=2\nretires=3\n"
    new, old = (audit(parse_properties(text, "f"), kafka=kafka) for kafka in ("4.3.1", "3.9.2"))
    assert [(one.name, one.says.split(";")[0]) for one in new.unknown[:1]] == [
        ("zookeeper.connect", "Kafka 4.0 removed it")
    ]
    assert [(one.name, one.says.split(";")[0]) for one in old.unknown[:1]] == [
        ("share.coordinator.threads", "Kafka 4.0 added it")
    ]
    assert {one.did_you_mean for one in (*new.unknown, *old.unknown)} == {None, "retries"}


def test_a_name_that_only_the_other_client_had_then_is_told_with_its_version() -> None:
    entries = parse_properties("group.protocol=consumer\nmessage.timeout.ms=9\n", "f")
    told = [one.says for one in audit(entries, ClientLibrary.JAVA, "3.5").unknown]
    assert told[0].startswith("Kafka 3.7 added it; ")
    assert told[1] == "only librdkafka has it, not java"


def test_the_catalogue_of_changes_is_in_order_and_older_defaults_are_values_of_their_time() -> None:
    for name, known in known_settings().items():
        for changes in known.changes.values():
            assert [numbers(one.version) for one in changes] == sorted(
                numbers(one.version) for one in changes
            )
            assert {one.what for one in changes} <= {"added", "default", "values"}, name
    for text in ("2.8", "3.3", "3.6", "3.9", "4.0", "4.2"):
        kafka = read_version(text)
        for name, known in known_settings(kafka).items():
            for (client, kind), default in known.defaults.items():
                refused = expected_values(name, default, client, {kind}, kafka)
                assert default in ("", "null") or refused is None, (text, name, default)


def test_the_number_of_names_in_each_version() -> None:
    def names(kafka: str, kind: SettingKind) -> int:
        return sum(kind in one.kinds for one in known_settings(read_version(kafka)).values())

    assert names("2.8", SettingKind.TOPIC) < names("3.9", SettingKind.TOPIC)
    assert "zookeeper.connect" in known_settings(read_version("3.9"))
    assert "zookeeper.connect" not in known_settings()
    assert known_settings(NEWEST) is known_settings(read_version(DEFAULT_VERSION))


@pytest.mark.parametrize("text", ["2.7.2", "x", "4", "4.1.2.3", "", "-3.7", "4.0-rc1"])
def test_a_version_without_known_rules_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"not a version of Kafka whose rules are known"):
        read_version(text)
    assert version_or_newest(text) == DEFAULT_VERSION


def test_a_version_is_named_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(CASES / "b16-rf1-minisr2.properties")
    assert call(monkeypatch, "audit", file) == 0
    assert f"for Kafka {DEFAULT_VERSION} (--kafka-version" in capsys.readouterr().out
    assert call(monkeypatch, "audit", file, "--kafka-version", "3.6") == 1
    assert "    versions: before Kafka 3.7\n" in capsys.readouterr().out
    assert call(monkeypatch, "audit", file, "--kafka-version", "2.0") == 2
    assert "expected: a version from 2.8 on" in capsys.readouterr().err


def test_a_version_that_is_newer_than_the_rules_is_taken_and_said() -> None:
    assert "only changes up to" in "\n".join(lines(audit([], kafka="9.0")))
    assert "only changes up to" not in "\n".join(lines(audit([])))
