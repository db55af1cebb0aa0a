"""Values with an inner form, each as the classes of Kafka 4.4.0 took or refused it (KafkaConsumer,
KafkaProducer, LogConfig.validate and KafkaConfig, tried value by value)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.config.properties import PropertyLine
from harness.tools.audit.audit import audit
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.known_settings import ClientLibrary, SettingKind, known_settings
from harness.tools.audit.rule import Severity
from harness.tools.audit.value_forms import FORMS

pytestmark = pytest.mark.pure

JAVA, RDK = ClientLibrary.JAVA, ClientLibrary.LIBRDKAFKA
PRODUCER, CONSUMER, TOPIC, BROKER = (
    SettingKind.PRODUCER,
    SettingKind.CONSUMER,
    SettingKind.TOPIC,
    SettingKind.BROKER,
)


def refusals(
    kind: SettingKind, *pairs: tuple[str, str], kafka: str = "4.4.0", client: ClientLibrary = JAVA
) -> list[str]:
    entries = [PropertyLine(name, value, "f", number) for number, (name, value) in enumerate(pairs)]
    found = audit(entries, client, kafka, kinds=frozenset([kind])).findings
    return [one.says for one in found if one.severity is Severity.REFUSED]


TIMES = {
    True: (
        *("PT10M", "pt1h", "P7D", "PT0S", "-PT0S", "+PT10M", "P1DT2H3M4.5S", "PT1,5S", "PT-1H61M"),
        *("PT-1H60M", "-PT-1H", "PT1.S", "PT-0S", "P106751991167300D", "PT9223372036854775807S"),
    ),
    False: (
        *("10m", "600000", "-PT10M", "PT-10M", "P1M", "P1W", "P1Y", "", "*", "PT", "P", "P1DT", "PT1.5H"),
        *("PT-1H59M", "PT1M1H", "PT1.1234567890S", "PT.5S", " PT1H", "PT-0.5S", "PT\uff11S"),
        *("PT99999999999999999999S", "P106751991167301D"),
    ),
}


@pytest.mark.parametrize(("taken", "time"), [(taken, one) for taken, some in TIMES.items() for one in some])
def test_a_time_to_go_back_by(taken: bool, time: str) -> None:
    found = refusals(CONSUMER, ("group.id", "g"), ("auto.offset.reset", f"by_duration:{time}"))
    assert (found == []) is taken


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("by_duration:10m", "by_duration:PT10M"),
        ("by_duration:600000", "by_duration:PT10M"),
        ("by_duration:1500", "by_duration:PT1.5S"),
        ("by_duration:-PT5M", "by_duration:PT5M"),
        ("by_duration:2 hours", "by_duration:PT2H"),
        ("by_duration:P1W", "by_duration:P7D"),
        ("by_duration:P1M", "by_duration:PT10M"),
        ("by_duration:", "by_duration:PT10M"),
        ("by_duration", "by_duration:PT10M"),
        ("BY_DURATION:PT90M", "by_duration:PT90M"),
        ("By_Duration:p2d", "by_duration:P2D"),
    ],
)
def test_what_was_meant_is_a_value_that_is_taken(value: str, meant: str) -> None:
    (said,) = refusals(CONSUMER, ("group.id", "g"), ("auto.offset.reset", value))
    assert f"did you mean {meant!r}?" in said
    assert refusals(CONSUMER, ("group.id", "g"), ("auto.offset.reset", meant)) == []


def test_no_hint_is_a_pattern() -> None:
    (said,) = refusals(CONSUMER, ("auto.offset.reset", "never"))
    assert "by_duration:PT10M" in said
    assert "*" not in said
    assert "<" not in said
    (said,) = refusals(CONSUMER, ("auto.offset.reset", "LATEST"))
    assert "(write 'latest')" in said
    (said,) = refusals(CONSUMER, ("auto.offset.reset", "by_duration:PT1H"), client=RDK)
    assert "by_duration" not in said.partition(": it is")[2]


VALUES: list[tuple[SettingKind, str, tuple[str, ...], tuple[str, ...]]] = [
    (
        TOPIC,
        "leader.replication.throttled.replicas",
        ("*", " *", "0:1", "0:1,1:2", "0:1, 1:2", "", "0:1,", "0:1,,1:2", "${REPLICAS}"),
        ("0-1", "*,*", "0:1,*", "none", "0 : 1", "[0:1]", "0:1:2", "a:b", "0:1;1:2", "-1:1", "true"),
    ),
    (TOPIC, "follower.replication.throttled.replicas", ("5:12",), ("5=12",)),
    (TOPIC, "cleanup.policy", ("", "delete,delete", " delete , compact "), ("delete,", ",")),
    (
        PRODUCER,
        "bootstrap.servers",
        *(
            ("localhost:0", "PLAINTEXT://a:9092", "[::1]:9092", "::1:9092", "<broker>:9092", "@kafka@"),
            ("", "a", "a:", "a:abc", "a:99999", "a:1,", "a:1,,b:1", "a:1;b:1", "a:1 b:1", '["a:1"]', "a:1/p"),
        ),
    ),
    (PRODUCER, "transactional.id", ("a", "a b/"), ("", " ")),
    (PRODUCER, "interceptor.classes", ("", "a.B,c.D"), ("x,", ",", "a.B;c.D")),
    (PRODUCER, "metric.reporters", ("",), (",",)),
    (PRODUCER, "config.providers", ("", "file"), ("file,",)),
    (
        PRODUCER,
        "key.serializer",
        ("org.apache.kafka.common.serialization.StringSerializer", "com.acme.Outer$Inner"),
        ("StringSerializer", "", "a b", "'a.B'"),
    ),
    (
        PRODUCER,
        "partitioner.class",
        ("org.apache.kafka.clients.producer.RoundRobinPartitioner",),
        ("RoundRobinPartitioner", ""),
    ),
    (PRODUCER, "ssl.enabled.protocols", ("", "TLSv1.2"), ("TLSv1.2,",)),
    (PRODUCER, "sasl.oauthbearer.expected.audience", ("",), ("a,",)),
    (CONSUMER, "group.id", ("g", "a b"), ("", " ")),
    (CONSUMER, "group.instance.id", ("a", "a.b-c_9", "a" * 249), ("", "a/b", "..", "a b", "a" * 250)),
    (
        CONSUMER,
        "partition.assignment.strategy",
        ("", "org.apache.kafka.clients.consumer.RangeAssignor"),
        ("org.apache.kafka.clients.consumer.RangeAssignor,",),
    ),
    (
        BROKER,
        "listeners",
        ("PLAINTEXT://:9092", "plaintext://:9092", "A://0.0.0.0:9092,B://[::1]:0"),
        ("", ":9092", "PLAINTEXT:9092", "PLAINTEXT://:9092,", "localhost:9092"),
    ),
    (
        BROKER,
        "advertised.listeners",
        ("PLAINTEXT://a:9092", "PLAINTEXT://:9092"),
        ("", "localhost:9092", "PLAINTEXT://localhost", "PLAINTEXT://0.0.0.0:9092"),
    ),
    (
        BROKER,
        "listener.security.protocol.map",
        ("PLAINTEXT:plaintext,CONTROLLER:PLAINTEXT",),
        ("PLAINTEXT", "PLAINTEXT:FOO"),
    ),
    (BROKER, "controller.quorum.voters", ("2@a:9093,3@b:9093",), ("a:9093", "1@a", "x@a:9093", "2@a:9093,")),
    (BROKER, "controller.quorum.bootstrap.servers", ("a:9093",), ("a", "a:b", "1@a:9093", "a:9093,")),
    (BROKER, "max.connections.per.ip.overrides", ("", "h:5,other:6", "h:5,"), ("h", "h:x", "h=5")),
    (BROKER, "log.dirs", ("/a,/a",), ("", "/a,")),
    (BROKER, "group.consumer.assignors", ("uniform", "uniform,uniform", "a.B"), ("", "UNIFORM", "range,")),
    (BROKER, "group.share.assignors", ("simple",), ("foo", "")),
    (BROKER, "group.streams.assignors", ("sticky",), ("foo", "")),
    (BROKER, "remote.log.storage.manager.class.name", ("x",), ("",)),
]


@pytest.mark.parametrize(
    ("kind", "name", "value", "taken"),
    [(kind, name, value, value in good) for kind, name, good, bad in VALUES for value in (*good, *bad)],
)
def test_a_value_with_an_inner_form(kind: SettingKind, name: str, value: str, taken: bool) -> None:
    found = refusals(kind, (name, value))
    assert (found == []) is taken
    if not taken:
        assert found[0].startswith(f"{name} cannot be {value.strip()!r}: it is ")


def test_the_full_name_of_kafkas_own_class_is_offered() -> None:
    (said,) = refusals(CONSUMER, ("value.deserializer", "ByteArrayDeserializer"))
    assert "did you mean 'org.apache.kafka.common.serialization.ByteArrayDeserializer'?" in said


@pytest.mark.parametrize(
    ("kind", "name", "value", "since"),
    [
        (PRODUCER, "bootstrap.servers", "a:9092,", "4.2"),
        (CONSUMER, "group.id", "", "4.0"),
        (PRODUCER, "config.providers", "file,", "4.2"),
    ],
)
def test_what_only_newer_versions_refuse(kind: SettingKind, name: str, value: str, since: str) -> None:
    older = {"4.2": "4.1.1", "4.0": "3.9.2"}[since]
    assert refusals(kind, (name, value), kafka=older) == []
    assert len(refusals(kind, (name, value), kafka=since)) == 1


def test_librdkafka_takes_what_only_java_refuses() -> None:
    for name, value in (("bootstrap.servers", "a"), ("transactional.id", "")):
        assert refusals(PRODUCER, (name, value), client=RDK) == []
    assert refusals(CONSUMER, ("group.instance.id", "a/b"), client=RDK) == []
    assert refusals(CONSUMER, ("partition.assignment.strategy", "range,"), client=RDK) == []


def test_the_longest_lag_that_kafka_has_is_no_refusal() -> None:
    assert refusals(TOPIC, ("min.compaction.lag.ms", str(2**63 - 1))) == []


def test_every_form_of_the_catalogue_stands() -> None:
    used = {
        values.partition(" ")[2]
        for known in known_settings().values()
        for values in known.values.values()
        if values.startswith("form ")
    }
    assert used | {"version"} == FORMS.keys()


def test_an_empty_default_of_a_placeholder_is_filled_in_later(tmp_path: Path) -> None:
    file = tmp_path / "application.yaml"
    file.write_text("spring.kafka.producer: {transaction-id-prefix: '${TX:}', acks: '${ACKS:all}'}\n")
    (section,) = read_config(file).sections
    values = {entry.name: entry.value for entry in section.entries}
    assert values == {"transactional.id": "${TX:}", "acks": "all"}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (CONSUMER, "auto.offset.reset", "by_duration:PT{}S"),
        (CONSUMER, "auto.offset.reset", "by_duration:{}"),
        (PRODUCER, "bootstrap.servers", "a:{}"),
        (TOPIC, "min.compaction.lag.ms", "{}"),
    ],
)
def test_numbers_of_any_length_are_answered(kind: SettingKind, name: str, value: str) -> None:
    assert refusals(kind, (name, value.format("9" * 5000)))
