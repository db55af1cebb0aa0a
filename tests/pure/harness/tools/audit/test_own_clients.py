"""Clients with names of their own: defaults, rules with near misses, and never another client's words."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka import KafkaConsumer, KafkaProducer

from harness.model.errors import BadInput
from harness.tools.audit.audit import RULES
from harness.tools.audit.audit_text import lines
from harness.tools.audit.clients.catalogue import own_clients
from harness.tools.audit.clients.own_values import OwnForm, kafka_value
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.known_settings import SERVER_KINDS, ClientLibrary, known_settings
from harness.tools.audit.rule import Severity
from tests.support.command_line import call
from tests.support.own_client_cases import OWN_CASES, audit_of
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

CASES = [(client, *case) for client, cases in OWN_CASES.items() for case in cases]
OF_CLIENTS = {
    name for name, known in known_settings().items() if known.kinds.isdisjoint(SERVER_KINDS) and "." in name
}
"""Kafka's own names of settings that only clients have."""


def rules_of(client: ClientLibrary, text: str) -> set[str]:
    return {one.rule for one in audit_of(client, text).findings}


@pytest.mark.parametrize(("client", "rule", "bad", "near_miss"), CASES)
def test_a_rule_speaks_and_is_silent_beside_it(
    client: ClientLibrary, rule: str, bad: str, near_miss: str
) -> None:
    assert rule in rules_of(client, bad)
    assert rule not in rules_of(client, near_miss)


def test_every_rule_with_words_for_a_client_is_tried_with_it() -> None:
    ids = {rule.id for rule in RULES}
    for library, client in own_clients().items():
        words = {rule for rule, said in client.rules.items() if not said.silent}
        assert words == {rule for rule, *_ in OWN_CASES[library]}, library
        assert set(client.rules) <= ids, library


@pytest.mark.parametrize(("client", "rule", "bad"), [case[:3] for case in CASES])
def test_users_hear_the_names_and_values_of_their_client_alone(
    client: ClientLibrary, rule: str, bad: str
) -> None:
    """Kafka's names are only in the sources, and acks=all is no value of one who has RequireAll."""
    found = audit_of(client, bad)
    said = [text for one in found.findings for text in (one.says, one.do, *one.settings)]
    said += [*found.notes, *(str(setting.promise) for setting in found.settings)]
    own = own_clients()[client]
    for text in said:
        assert not re.search(r"\{[a-z.]+\}", text), text
        words = set(re.findall(r"[\w.]+(?=\b)", text))
        assert words.isdisjoint(OF_CLIENTS), rule
        if "acks" not in own.by_name:
            assert not re.search(r"\backs=", text), text


def test_what_a_client_lacks_is_never_advised() -> None:
    kafka_go = [
        one
        for text in ("{RequiredAcks: one}", "{Writer: {Topic: t}}")
        for one in audit_of(ClientLibrary.KAFKA_GO, text).findings
    ]
    assert not [one.do for one in kafka_go if "idempoten" in one.do.lower()]
    (twice,) = (one for one in kafka_go if one.rule == "not-idempotent")
    assert "kafka-go has no idempotence" in twice.says
    sarama = audit_of(ClientLibrary.SARAMA, "{Producer.RequiredAcks: WaitForAll}")
    (early,) = (one for one in sarama.findings if one.rule == "retries-end-early")
    assert "sarama has no limit of the time of a send" in early.do


@pytest.mark.parametrize(
    ("client", "acks", "idempotent", "start", "isolation", "commits"),
    [
        (ClientLibrary.KAFKAJS, "all", "false", "latest", "read_committed", "true"),
        (ClientLibrary.SARAMA, "1", "false", "latest", "read_uncommitted", "true"),
        (ClientLibrary.FRANZ_GO, "all", "true", "earliest", "read_uncommitted", "true"),
        (ClientLibrary.KAFKA_GO, "0", "false", "earliest", "read_uncommitted", None),
        (ClientLibrary.KAFKA_PYTHON, "all", "true", "latest", "read_uncommitted", "true"),
        (ClientLibrary.AIOKAFKA, "1", "false", "latest", "read_uncommitted", "true"),
        (ClientLibrary.PLATFORMATIC, "1", "false", "latest", "read_committed", "true"),
    ],
)
def test_the_defaults_are_those_that_were_read_and_measured(
    client: ClientLibrary, acks: str, idempotent: str, start: str, isolation: str, commits: str | None
) -> None:
    own = own_clients()[client]
    names = ("acks", "enable.idempotence", "auto.offset.reset", "isolation.level", "enable.auto.commit")
    assert tuple(map(own.default, names)) == (acks, idempotent, start, isolation, commits)


def test_every_default_is_a_value_that_the_client_has_with_the_line_that_has_it() -> None:
    assert set(own_clients()) == set(ClientLibrary) - {ClientLibrary.JAVA, ClientLibrary.LIBRDKAFKA}
    for client in own_clients().values():
        assert len(client.by_name) == len(client.settings) + sum(
            len(names.split()) for names in client.others.values()
        ), f"{client} has a name twice"
        for setting in client.settings:
            assert setting.default is None or setting.read(setting.default) is not None, setting
            assert not setting.listed or re.search(r":\d+$", setting.at or ""), setting
            assert set(setting.spelled.values()) <= set(setting.values), setting


def shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("kind", [KafkaProducer, KafkaConsumer])
def test_kafka_python_has_these_names_and_defaults(kind: Any) -> None:
    """The catalogue against the client itself: a later version that changes a default fails here."""
    own = own_clients()[ClientLibrary.KAFKA_PYTHON]
    mine = "producer" if kind is KafkaProducer else "consumer"
    assert {name for name, one in own.by_name.items() if one.of in (mine, "clients")} >= set(
        kind.DEFAULT_CONFIG
    )
    for name, value in kind.DEFAULT_CONFIG.items():
        setting = own.by_name[name]
        if setting.default is not None and setting.of in (mine, "clients"):
            assert setting.read(shown(value)) == setting.read(setting.default), name


@pytest.mark.parametrize("kind", [AIOKafkaProducer, AIOKafkaConsumer])
def test_aiokafka_has_these_names_and_defaults(kind: Any) -> None:
    own = own_clients()[ClientLibrary.AIOKAFKA]
    parameters = {
        name: one.default
        for name, one in inspect.signature(kind).parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY
    }
    mine = "producer" if kind is AIOKafkaProducer else "consumer"
    assert {name for name, one in own.by_name.items() if one.of in (mine, "clients")} >= set(parameters) - {
        "self"
    }
    for name, value in parameters.items():
        setting = own.by_name[name]
        if setting.default is not None and name != "acks":  # without acks it is 1, or all if it is idempotent
            assert setting.read(shown(value)) == setting.read(setting.default), name


FILES: list[tuple[ClientLibrary, str, str, set[str]]] = [
    (
        ClientLibrary.KAFKAJS,
        "kafka.json",
        '{"clientId": "shop", "brokers": ["kafka-1:9092"],\n "producer": {"idempotent": true,'
        ' "maxInFlightRequests": 5, "retry": {"retries": 8}}}',
        {"idempotent-not-awaited"},
    ),
    (
        ClientLibrary.SARAMA,
        "sarama.yaml",
        "Producer:\n  RequiredAcks: sarama.WaitForAll\n  Idempotent: true\n  Retry: {Max: 30, Backoff: 1s}\n"
        "Net: {MaxOpenRequests: 1}\n"
        "Consumer:\n  Offsets: {Initial: OffsetOldest, AutoCommit: {Enable: false}}\n",
        set(),
    ),
    (
        ClientLibrary.KAFKA_GO,
        "writer.yaml",
        'Writer:\n  Addr: kafka.TCP("kafka-1:9092")\n  Topic: orders\n  Balancer: "&kafka.LeastBytes{}"\n'
        "  BatchTimeout: 10 * time.Millisecond\n",
        {"acks-0"},
    ),
    (
        ClientLibrary.FRANZ_GO,
        "kgo.properties",
        "ProducerLinger: 5 * time.Millisecond\nRecordDeliveryTimeout: 30s\nDefaultProduceTopic: orders\n",
        set(),
    ),
    (
        ClientLibrary.KAFKA_PYTHON,
        "producer.properties",
        "bootstrap_servers=kafka-1:9092\nacks=1\nretries=5\nlinger_ms=20\n",
        {"acks-1", "order", "idempotence-ruled-out"},
    ),
    (
        ClientLibrary.AIOKAFKA,
        "consumer.yaml",
        "AIOKafkaConsumer:\n  bootstrap_servers: kafka-1:9092\n  group_id: billing\n"
        "  enable_auto_commit: False\n",
        {"latest"},
    ),
    (
        ClientLibrary.PLATFORMATIC,
        "platformatic.yaml",
        "producer: {clientId: shop, bootstrapBrokers: ['kafka-1:9092'], acks: -1, retries: true}\n",
        {"acks-1", "acks-of-the-constructor", "not-idempotent", "order"},
    ),
]


@pytest.mark.parametrize(("client", "name", "text", "rules"), FILES)
def test_a_file_as_users_have_it(
    client: ClientLibrary, name: str, text: str, rules: set[str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    file = read_config(path, client)
    assert f"with the names of {own_clients()[client]}" in str(file)
    found = audit_of(client, text, name)
    assert {one.rule for one in found.findings} == rules
    assert found.unknown == ()
    told = "\n".join(lines(found))
    assert f"(the default of {own_clients()[client]})" in told


def test_the_topic_beside_it_meets_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    writer, topic = tmp_path / "writer.yaml", tmp_path / "topic.properties"
    writer.write_text("RequiredAcks: RequireAll\n")
    topic.write_text("min.insync.replicas=1\nreplication.factor=3\n")
    assert call(monkeypatch, "audit", str(writer), str(topic), "--client", "kafka-go") == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "CONTRADICTION acks-all-alone" in printed
    assert "RequiredAcks: RequireAll with min.insync.replicas=1" in printed
    assert "acks=all" not in printed.replace("--arm acks=all", "")
    topic.write_text("min.insync.replicas=2\nreplication.factor=3\n")
    assert call(monkeypatch, "audit", str(writer), str(topic), "--client", "kafka-go") == 0
    assert "acks-all-alone" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("client", "text", "name", "expected"),
    [
        (
            ClientLibrary.KAFKA_GO,
            "RequiredAcks: WaitForAll",
            "RequiredAcks",
            "one of RequireNone, RequireOne",
        ),
        (
            ClientLibrary.SARAMA,
            "Producer.RequiredAcks: all",
            "Producer.RequiredAcks",
            "WaitForLocal, WaitFor",
        ),
        (ClientLibrary.KAFKAJS, "acks: all", "acks", "one of 0, 1, -1"),
        (ClientLibrary.KAFKAJS, "idempotent: maybe", "idempotent", "true or false"),
        (ClientLibrary.FRANZ_GO, "ProducerLinger: soon", "ProducerLinger", "a duration of Go"),
        (ClientLibrary.AIOKAFKA, "acks: 2", "acks", "one of 0, 1, all"),
        (ClientLibrary.KAFKA_PYTHON, "retries: ten", "retries", "a whole number, or inf"),
        (ClientLibrary.PLATFORMATIC, "consume: {mode: newest}", "mode", "one of latest, earliest, committed"),
    ],
)
def test_a_value_that_the_client_does_not_have(
    client: ClientLibrary, text: str, name: str, expected: str
) -> None:
    found = audit_of(client, f"{{{text}}}")
    (refused,) = (one for one in found.findings if one.rule == "value")
    assert refused.severity is Severity.REFUSED
    assert refused.says.startswith(f"{name} cannot be ")
    assert expected in refused.says
    assert found.exit_code() == 1
    # No other rule takes such a value for granted.
    assert not [one for one in found.findings if name in one.settings and one.rule != "value"]


@pytest.mark.parametrize(
    ("client", "text", "meant", "says"),
    [
        (ClientLibrary.KAFKA_GO, "{Topic: t, requiredAcks: one}", "RequiredAcks", "upper and lower case"),
        (ClientLibrary.KAFKA_GO, "{Topic: t, acks: all}", "RequiredAcks", "Kafka's name"),
        (
            ClientLibrary.KAFKA_GO,
            "{Topic: t, enable.idempotence: true}",
            None,
            "has no such setting (idempotence",
        ),
        (ClientLibrary.SARAMA, "{ClientID: a, Producer.RequireAcks: 1}", "Producer.RequiredAcks", "unknown"),
        (ClientLibrary.KAFKAJS, "{acks: -1, producer: {idempotence: true}}", "idempotent", "unknown name"),
        (ClientLibrary.KAFKAJS, "{acks: -1, auto.offset.reset: earliest}", "fromBeginning", "Kafka's name"),
        (ClientLibrary.AIOKAFKA, "{acks: 1, retries: 5}", None, "has no such setting (a number of retries"),
        (ClientLibrary.KAFKA_PYTHON, "{acks: 1, enable.idempotence: true}", "enable_idempotence", "Kafka's"),
        (ClientLibrary.PLATFORMATIC, "{groupId: g, sesionTimeout: 5}", "sessionTimeout", "unknown name"),
    ],
)
def test_a_name_that_the_client_does_not_have(
    client: ClientLibrary, text: str, meant: str | None, says: str
) -> None:
    found = audit_of(client, text)
    (unknown,) = found.unknown
    assert unknown.did_you_mean == meant
    assert says in unknown.says
    assert found.exit_code() == (
        1 if meant or any(f.severity is not Severity.RISK for f in found.findings) else 0
    )


def test_what_is_filled_in_later_is_not_judged() -> None:
    found = audit_of(ClientLibrary.KAFKAJS, "{acks: '${ACKS}', groupId: g}")
    assert not {"acks-0", "acks-1", "value", "not-idempotent"} & {one.rule for one in found.findings}
    assert [one.name for one in found.unknown] == ["acks"]


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.properties", "acks=all\nlinger.ms=5\n", "this file has no setting of kafka-go"),
        (
            "main.go",
            'package main\n\nfunc main() {\n  w := &kafka.Writer{Topic: "t"}\n}\n',
            "program: recognised",
        ),
        ("a.yaml", "port: 8080\nlogging: {level: info}\n", "no line of this file sets anything"),
    ],
)
def test_a_file_without_its_settings_is_refused_with_what_to_copy(
    name: str, text: str, what: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_config(path, ClientLibrary.KAFKA_GO)
    assert caught.value.what.startswith(what)
    assert "`RequiredAcks: RequireAll`" in str(caught.value.next_step)


def test_a_client_that_is_not_known_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("acks: -1\n")
    assert call(monkeypatch, "audit", str(path), "--client", "kafka-js") == 2
    said = capsys.readouterr().err
    assert "kafkajs" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("client", "text", "rules"),
    [
        (
            ClientLibrary.KAFKA_GO,
            'Addr: kafka.TCP("a:9092"),\nTopic:  "orders",\nRequiredAcks: kafka.RequireOne,\n',
            {"acks-1", "not-idempotent", "batch-not-retried", "retries-end-early"},
        ),
        (ClientLibrary.KAFKA_PYTHON, "bootstrap_servers=['a:9092'],\nacks='all',\nretries=5,\n", set()),
        (
            ClientLibrary.SARAMA,
            "config.Producer.RequiredAcks = sarama.NoResponse\nconfig.Producer.Retry.Max = 5\n",
            {"acks-0"},
        ),
    ],
)
def test_lines_that_were_copied_out_of_a_program(
    client: ClientLibrary, text: str, rules: set[str], tmp_path: Path
) -> None:
    found = audit_of(client, text, "copied.txt")
    assert {one.rule for one in found.findings} == rules
    whole = tmp_path / "whole.txt"
    whole.write_text(f"func main() {{\n{text}}}\n")
    with pytest.raises(BadInput, match="recognised, not read"):
        read_config(whole, client)


@pytest.mark.parametrize(
    ("text", "client"),
    [
        ("acks: -1\nidempotent: true\nretry: {retries: 8}\n", "kafkajs"),
        ("acks: all\nenable_idempotence: true\nlinger_ms: 5\n", "aiokafka` or `kafka-python"),
        ("acks: all\nlinger.ms: 5\ntopic: orders\ntimeout: 5\n", None),
    ],
)
def test_names_of_other_clients_are_recognised_without_the_option(
    text: str, client: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    hints = [note for note in read_config(path).notes if "--client" in note]
    assert len(hints) == (1 if client else 0)
    assert all(f"`--client {client}` reads them" in hint for hint in hints)


def test_several_clients_of_one_file_are_told_apart() -> None:
    found = audit_of(
        ClientLibrary.KAFKAJS,
        "orders: {producer: {idempotent: true}}\nbills: {producer: {idempotent: false}}\n"
        "retry: {retries: 8}\n",
    )
    assert {one.of for one in found.findings if one.rule == "not-idempotent"} == {"producer bills"}
    assert {one.of for one in found.findings if one.rule == "idempotent-not-awaited"} == {"producer orders"}


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("duration", "100ms", "100"),
        ("duration", "100 * time.Millisecond", "100"),
        ("duration", "time.Second * 3", "3000"),
        ("duration", "time.Minute", "60000"),
        ("duration", "1m30s", "90000"),
        ("duration", "30000000", "30"),
        ("duration", "5 minutes", None),
        ("duration", "time.Fortnight", None),
        ("ms", "5000.5", "5000.5"),
        ("ms", "5s", None),
        ("attempts", "0", "9"),
        ("attempts", "1", "0"),
        ("boolean", "True", "true"),
        ("boolean", "1", None),
        ("option", "false", "false"),
        ("interval", "250", "true"),
        ("text", "anything at all", "anything at all"),
    ],
)
def test_values_as_programs_write_them(form: OwnForm, text: str, expected: str | None) -> None:
    assert kafka_value(form, {}, {}, text) == expected


def test_secrets_are_masked() -> None:
    found = audit_of(ClientLibrary.KAFKA_PYTHON, "{acks: all, sasl_plain_password: hunter22}")
    assert "hunter22" not in "\n".join(lines(found))
    nested = audit_of(ClientLibrary.KAFKAJS, "{acks: -1, sasl: {username: a, password: hunter22}}")
    assert "hunter22" not in "\n".join(lines(nested))


def test_the_page_has_each_client_with_its_version_and_defaults() -> None:
    page = (ROOT / "docs/how-to/own-configuration.md").read_text()
    for client in own_clients().values():
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{client.client}` "))
        assert client.version in row
        assert client.package in row
        for name in ("acks", "auto.offset.reset"):
            setting = client.by_rule_name[name]
            assert f"`{client.written(setting.name, setting.default or '')}`" in row, (client, name)
