"""Every format of files: recognised in any shape, and read with its own names and defaults, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.model.errors import BadInput
from harness.tools.audit.audit_files import audit_files
from harness.tools.audit.config_file import ConfigFile
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.formats import formats
from harness.tools.audit.known_settings import ClientLibrary, SettingKind, known_settings
from tests.support.command_line import call
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

CASES = ROOT / "tests/support/cases"
PRODUCER, CONSUMER = SettingKind.PRODUCER, SettingKind.CONSUMER


def read(folder: Path, name: str, text: str | bytes) -> ConfigFile:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(path)


def shown(file: ConfigFile) -> dict[str, dict[str, str]]:
    """The settings of each section, by the title of the section."""
    return {section.title: {one.name: one.value for one in section.entries} for section in file.sections}


def said(*paths: Path) -> set[str]:
    return {finding.rule for finding in audit_files([read_config(path) for path in paths]).findings}


@pytest.mark.parametrize(
    ("case", "format_", "rules"),
    [
        ("b01-log-dump.txt", "start-up dump of the Java client", {"acks-1", "not-idempotent", "order"}),
        (
            "b01-log-dump-noheader.txt",
            "start-up dump of the Java client",
            {"acks-1", "not-idempotent", "order"},
        ),
        ("b02-spring.properties", "Spring Boot", {"acks-1", "no-retries", "latest", "auto-commit-java"}),
        ("b03b-good.yml", "Spring Boot", set()),
        (
            "b04-connect-distributed.properties",
            "Kafka Connect worker",
            {"one-copy", "acks-1", "not-idempotent", "order", "latest"},
        ),
        ("b05-mm2.properties", "MirrorMaker 2", {"one-copy", "acks-1", "not-idempotent", "latest"}),
        ("b08-kafka.env", "environment variables", {"unclean", "offsets-one-copy"}),
        ("b13-strimzi.yaml", "Strimzi Kafka", {"unclean", "offsets-one-copy", "transactions-one-copy"}),
        ("b06b-share-only.properties", "properties", {"share-state-one-copy"}),
        ("b07-comment.properties", "properties", {"value"}),
        ("b15-describe.txt", "kafka-topics --describe", {"unclean", "minisr-one"}),
        ("b16-rf1-minisr2.properties", "properties", {"minisr-capped", "one-copy"}),
        ("b20-mixed-assignors.properties", "properties", {"assignors-mixed"}),
        ("b28-topic-only.properties", "properties", {"minisr-one"}),
        ("b29-acks-upper.properties", "properties", {"value"}),
        ("p-all.properties", "properties", set()),
    ],
)
def test_a_file_from_the_field(
    case: str,
    format_: str,
    rules: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    text = (CASES / case).read_text()
    shapes = {
        "as it is": text.encode(),
        "Windows": text.replace("\n", "\r\n").encode(),
        "byte order mark": b"\xef\xbb\xbf" + text.encode(),
        "PowerShell": text.replace("\n", "\r\n").encode("utf-16"),
        "no last line end": text.rstrip("\n").encode(),
    }
    for shape, data in shapes.items():
        path = tmp_path / case
        path.write_bytes(data)
        assert read_config(path).format == format_, shape
        # What else the rules say of it is for the tests of rules.
        assert rules <= said(path), shape
        if not rules:
            assert said(path) == rules, shape
        refused = {"value", "assignors-mixed"} & rules
        assert call(monkeypatch, "audit", str(path)) == (1 if refused else 0), shape
        assert f"{case}: {format_}" in capsys.readouterr().out.splitlines()[0], shape


def test_a_dump_never_contradicts_the_client_that_printed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every default of a producer and of a consumer, as a client of Kafka 4.3 prints them."""
    for kind, head in ((PRODUCER, "ProducerConfig"), (CONSUMER, "ConsumerConfig")):
        values = {
            name: one.defaults[ClientLibrary.JAVA, kind]
            for name, one in known_settings().items()
            if (ClientLibrary.JAVA, kind) in one.defaults
        }
        values |= {"bootstrap.servers": "[b:9092]", "client.id": "c-1", "transactional.id": "null"}
        values["partition.assignment.strategy"] = (
            "[class org.apache.kafka.clients.consumer.RangeAssignor, "
            "class org.apache.kafka.clients.consumer.CooperativeStickyAssignor]"
        )
        lines = "".join(f"\t{name} = {value}\n" for name, value in values.items())
        path = tmp_path / "app.log"
        path.write_text(
            f"10:00:00 INFO started\n10:00:01 INFO {head} values: \n{lines}\n10:00:02 WARN a = b\n"
        )
        (section,) = read_config(path).sections
        assert (section.kind, section.client, section.title) == (kind, ClientLibrary.JAVA, f"{kind} c-1")
        assert [
            one.name for one in section.entries if one.name not in ("bootstrap.servers", "client.id")
        ] in (
            [],
            ["partition.assignment.strategy"],
        )
        assert call(monkeypatch, "audit", str(path)) == 0


def test_a_dump_leaves_out_the_defaults_of_the_version_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("INFO ProducerConfig values: \n\tacks = -1\n\tenable.idempotence = true\n\tretries = 5\n")
    for kafka, expected in (("2.8", {"acks", "enable.idempotence", "retries"}), ("4.3.1", {"retries"})):
        file = read_config(path, kafka=kafka)
        assert {one.name for one in file.sections[0].entries} == expected, kafka
        left_out = 3 - len(expected)
        assert file.notes == (f"{left_out} lines are defaults of Kafka {kafka}",) * bool(left_out)
        # With 2.8's own defaults acks=1 and no idempotence would be reported.
        assert {one.rule for one in audit_files([file], kafka=kafka).findings} == set(), kafka


def test_the_version_reaches_the_rules_for_every_part(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        "docker-compose.yml",
        "services: {k: {image: k, environment: {KAFKA_DEFAULT_REPLICATION_FACTOR: 1, "
        "KAFKA_MIN_INSYNC_REPLICAS: 2, KAFKA_NODE_ID: 1}}}\n",
    )
    for kafka, rule in (("3.6", "minisr-above-copies"), ("3.7", "minisr-capped")):
        found = audit_files([file], kafka=kafka)
        assert (found.kafka, rule in {one.rule for one in found.findings}) == (kafka, True)


def test_a_refused_value_and_one_that_is_filled_in_later_are_told_beside_each_other(tmp_path: Path) -> None:
    text = "acks=ALL\nretries=${RETRIES}\nenable.idempotence=true\nclient.id=a #b\nzookeeper.connect=z:1\n"
    found = audit_files([read(tmp_path, "p.properties", text)])
    assert [one.rule for one in found.findings] == ["value", "comment"]
    assert [(one.name, one.says.split(";")[0]) for one in found.unknown] == [
        ("retries", "its value is filled in later, so no rule about it was applied"),
        ("zookeeper.connect", "Kafka 4.0 removed it"),
    ]


def test_a_file_with_names_of_an_older_version_alone_is_answered(tmp_path: Path) -> None:
    found = audit_files([read(tmp_path, "server.properties", "zookeeper.connect=z:1\n")])
    assert found.unknown[0].says.startswith("Kafka 4.0 removed it")


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("y1-networkchaos.yaml", ("a NetworkChaos of Chaos Mesh", "docs/how-to/other-chaos-tools.md")),
        ("y3-trogdor.json", ("a NetworkPartitionFaultSpec of Trogdor", "docs/how-to/other-chaos-tools.md")),
        ("t4b.yaml", ("experiment or matrix of kafka-chaos", "`kafka-chaos plan")),
        ("i-java-full.log", ("this is not JSON", "line 2")),
    ],
)
def test_a_file_without_settings_is_refused_by_what_it_is(case: str, told: tuple[str, ...]) -> None:
    with pytest.raises(BadInput) as refused:
        read_config(CASES / case)
    assert all(one in str(refused.value) for one in told), refused.value


def test_several_dumps_in_one_log_are_told_apart(tmp_path: Path) -> None:
    def dump(head: str, **values: str) -> str:
        settings = "".join(f"\t{name.replace('_', '.')} = {value}\n" for name, value in values.items())
        return f"2026-11-20 10:00:00,476 INFO [main] o.a.k.c.{head} - {head} values: \n{settings}"

    text = (
        dump("ProducerConfig", client_id="orders-1", acks="1", enable_idempotence="false")
        + dump("ConsumerConfig", client_id="in", group_id="g", auto_offset_reset="latest")
        + "2026-11-20 10:00:01,000 INFO something = else\n"
        + dump("ProducerConfig", client_id="orders-2", acks="1", enable_idempotence="false")
        + dump("ProducerConfig", client_id="audit", acks="-1", interceptor_classes="[class a.B, class c.D]")
        + dump("AdminClientConfig", client_id="admin")
    )
    file = read(tmp_path, "app.log", text)
    assert [section.title for section in file.sections] == [
        "producer orders-1 and orders-2",
        "consumer in",
        "producer audit",
    ]
    assert shown(file)["producer audit"] == {"client.id": "audit", "interceptor.classes": "a.B,c.D"}
    assert "AdminClientConfig" in " ".join(file.notes)
    found = audit_files([file]).findings
    assert {one.of for one in found if one.rule == "acks-1"} == {"producer orders-1 and orders-2"}
    # Of several containers, whose lines alternate, and as JSON.
    prefixed = "".join(
        f"app-1  | \t{one}\n{'app-2  | ' if number % 2 else 'pod '}x = y\n"
        for number, one in enumerate(["acks = 0", "linger.ms = 7"])
    )
    file = read(tmp_path, "c.log", f"app-1  | INFO ProducerConfig values: \n{prefixed}")
    assert shown(file) == {"producer": {"acks": "0", "linger.ms": "7"}}
    # A comment is no dump.
    file = read(tmp_path, "p.properties", "# ProducerConfig values:\nacks=0\n")
    assert (file.format, shown(file)) == ("properties", {"": {"acks": "0"}})
    event = json.dumps({"level": "INFO", "message": "ProducerConfig values: \n\tacks = 0\n\tretries = 3\n"})
    file = read(tmp_path, "j.log", f'{{"message": "hello"}}\n{event}\n')
    assert shown(file) == {"producer": {"acks": "0", "retries": "3"}}


SPRING = """
# shared by all
server: {port: 8080}
spring:
  kafka:
    bootstrap-servers: ["a:9092", "b:9092"]
    properties: {"[security.protocol]": SASL_SSL}
    producer:
      acks: "${ACKS:1}"
      batchSize: 32KB
      transaction_id_prefix: tx-
      properties:
        delivery.timeout.ms: 60000
    consumer: {groupId: g, auto-offset-reset: latest, isolation-level: READ_COMMITTED, fetch-max-wait: 2s}
---
spring:
  config.activate.on-profile: prod
  kafka.producer.acks: all
"""


def test_spring_boot_has_profiles_spellings_units_and_placeholders(tmp_path: Path) -> None:
    found = shown(read(tmp_path, "application.yaml", SPRING))
    assert found["producer"] == {
        "bootstrap.servers": "a:9092,b:9092",
        "security.protocol": "SASL_SSL",
        "acks": "1",
        "batch.size": "32768",
        "transactional.id": "tx-",
        "delivery.timeout.ms": "60000",
    }
    assert found["producer (profile prod)"]["acks"] == "all"
    assert found["consumer"] == {
        "enable.auto.commit": "false",
        "bootstrap.servers": "a:9092,b:9092",
        "security.protocol": "SASL_SSL",
        "group.id": "g",
        "auto.offset.reset": "latest",
        "isolation.level": "read_committed",
        "fetch.max.wait.ms": "2000",
    }
    # The same as properties: two documents, and a name that is in no table.
    text = "spring.kafka.producer.acks=0\n#---\nspring.config.activate.on-profile=x\n"
    text += "spring.kafka.producer.ackz=1\n"
    file = read(tmp_path, "application.properties", text)
    assert shown(file) == {
        "producer": {"acks": "0"},
        "producer (profile x)": {"acks": "0", "ackz": "1"},
    }
    (unknown,) = audit_files([file]).unknown
    assert (unknown.name, unknown.where.rpartition(":")[2]) == ("ackz", "4")


OTHERS: list[tuple[str, str, str, dict[str, dict[str, str]]]] = [
    (
        "application.yml",
        "spring: {cloud: {stream: {kafka: {binder: {producer-properties: {linger.ms: 5}}, bindings: {out-0: "
        "{producer: {configuration: {retries: 3}}}}}, bindings: {in-0: {group: g}}}}}",
        "Spring Cloud Stream",
        {
            "producer out-0": {"acks": "all", "linger.ms": "5", "retries": "3"},
            "consumer in-0": {
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "false",
                "group.id": "g",
            },
        },
    ),
    (
        "application.properties",
        "quarkus.http.port=80\nkafka.bootstrap.servers=b:9\nmp.messaging.outgoing.orders.connector=smallrye-kafka\n"
        "mp.messaging.outgoing.orders.topic=o\n%prod.mp.messaging.outgoing.orders.acks=all\n"
        "mp.messaging.outgoing.mail.connector=smallrye-amqp\nmp.messaging.incoming.in.auto.offset.reset=earliest\n",
        "Quarkus (SmallRye Reactive Messaging)",
        {
            "producer orders": {"acks": "1", "bootstrap.servers": "b:9"},
            "producer (profile prod) orders": {"bootstrap.servers": "b:9", "acks": "all"},
            "consumer in": {
                "enable.auto.commit": "false",
                "bootstrap.servers": "b:9",
                "auto.offset.reset": "earliest",
            },
        },
    ),
    (
        "application.properties",
        "debezium.sink.type=kafka\ndebezium.sink.kafka.producer.acks=1\ndebezium.source.connector.class=x\n",
        "Debezium Server",
        {"producer": {"acks": "1"}},
    ),
    (
        "register.json",
        '{\n\t"name": "i\\/v",\n\t"config": {"connector.class": "io.debezium.connector.mysql.MySqlConnector",'
        ' "producer.override.acks": 1, "topic.creation.default.replication.factor": 1,'
        ' "database.password": "\\ud83d\\ude00"}}',
        "Debezium connector",
        {
            "producer": {
                "enable.idempotence": "false",
                "max.in.flight.requests.per.connection": "1",
                "delivery.timeout.ms": "2147483647",
                "acks": "1",
            },
            "topic default": {"replication.factor": "1"},
        },
    ),
    (
        "sink.properties",
        "name=s\nconnector.class=org.example.Sink\nconsumer.override.auto.offset.reset=latest\n",
        "Kafka Connect connector",
        {"consumer": {"enable.auto.commit": "false", "auto.offset.reset": "latest"}},
    ),
    (
        "streams.properties",
        "application.id=app\nprocessing.guarantee=exactly_once_v2\nmain.consumer.max.poll.records=9\n"
        "replication.factor=1\n",
        "Kafka Streams",
        {
            "producer": {
                "linger.ms": "100",
                "enable.idempotence": "true",
                "transactional.id": "set by Streams",
            },
            "consumer": {
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "false",
                "group.id": "app",
                "max.poll.records": "9",
                "isolation.level": "read_committed",
            },
            "topic": {"replication.factor": "1"},
        },
    ),
    (
        "compose.yaml",
        "x-kafka: &kafka\n  KAFKA_MIN_INSYNC_REPLICAS: ${MIN_ISR:-1}\n  KAFKA_HEAP_OPTS: -Xmx1g\nservices:\n"
        "  k1: {image: apache/kafka, environment: {<<: *kafka, KAFKA_NODE_ID: 1}}\n"
        "  k2: {image: apache/kafka, environment: {KAFKA_NODE_ID: 2, <<: *kafka}}\n"
        "  k3:\n    image: bitnami/kafka\n    environment:\n      - KAFKA_CFG_MIN_INSYNC_REPLICAS=2\n"
        "      - KAFKA_CFG_AUTO_CREATE_TOPICS_ENABLE=on\n"
        "  c: {image: connect, environment: {CONNECT_OFFSET_STORAGE_TOPIC: o, CONNECT_PRODUCER_ACKS: '1'}}\n"
        "  app: {build: ., environment: [SPRING_KAFKA_CONSUMER_AUTO_OFFSET_RESET=latest, SECRET=x]}\n"
        "  ui: {image: ui, environment: {KAFKA_CLUSTERS_0_NAME: x, KAFKA_BOOTSTRAP_SERVERS: 'k1:9092'}}\n",
        "Compose file and environment variables and Kafka Connect worker and Spring Boot",
        {
            "broker k1 and k2": {"min.insync.replicas": "1", "node.id": "1"},
            "broker k3": {"min.insync.replicas": "2", "auto.create.topics.enable": "true"},
            "producer c": {
                "enable.idempotence": "false",
                "max.in.flight.requests.per.connection": "1",
                "delivery.timeout.ms": "2147483647",
                "acks": "1",
            },
            "consumer c": {"enable.auto.commit": "false", "auto.offset.reset": "earliest"},
            "consumer app": {"enable.auto.commit": "false", "auto.offset.reset": "latest"},
        },
    ),
    (
        "cluster.yaml",
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaNodePool\nmetadata: {name: pool}\nspec: {}\n---\n"
        "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: shop}\n"
        "spec: {kafka: {config: {min.insync.replicas: 1}}}\n---\n"
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic\nmetadata: {name: orders}\n"
        "spec: {partitions: 3, replicas: 1, config: {retention.ms: 7200000}}\n",
        "Strimzi Kafka and Strimzi KafkaTopic",
        {
            "broker shop": {"min.insync.replicas": "1"},
            "topic orders": {"partitions": "3", "replication.factor": "1", "retention.ms": "7200000"},
        },
    ),
    (
        "list.json",
        '{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Service"}, '
        '{"apiVersion": "kafka.strimzi.io/v1", "kind": "Kafka", "metadata": {"name": "a"}, '
        '"spec": {"kafka": {"config": {"min.insync.replicas": 2}}}}]}',
        "settings as JSON and Strimzi Kafka",
        {"broker a": {"min.insync.replicas": "2"}},
    ),
    (
        "map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  producer.properties: |\n    acks=0\n"
        "    linger.ms=5\n  LOG_LEVEL: debug\n",
        "Kubernetes ConfigMap and properties and environment variables",
        {"producer.properties": {"acks": "0", "linger.ms": "5"}},
    ),
    (
        "deployment.yaml",
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: kafka}\nspec: {template: {spec: "
        "{containers: [{name: kafka, env: [{name: KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE, value: 'true'}, "
        "{name: X, valueFrom: {fieldRef: {}}}]}]}}}",
        "Kubernetes workload and environment variables",
        {"broker kafka": {"unclean.leader.election.enable": "true"}},
    ),
    (
        "client.json",
        '{"bootstrap.servers": "b:9092", "acks": "all", "enable.idempotence": false}',
        "settings as JSON",
        {"": {"bootstrap.servers": "b:9092", "acks": "all", "enable.idempotence": "false"}},
    ),
    (
        "clients.json",
        '{"producer": {"acks": 1}, "consumer": {"group.id": "g", "group.consumer.session.timeout.ms": 5}}',
        "settings as JSON",
        {
            "producer": {"acks": "1"},
            "consumer": {"group.id": "g", "group.consumer.session.timeout.ms": "5"},
        },
    ),
    (
        "producer.yml",
        "acks: 1\nenable.idempotence: no # YAML's word for false\n",
        "settings as YAML",
        {"": {"acks": "1", "enable.idempotence": "false"}},
    ),
    (
        "fluent-bit.conf",
        "[SERVICE]\n    Flush 1\n[INPUT]\n    Name kafka\n    Brokers b:9092\n    Topics t\n[OUTPUT]\n"
        "    Name  kafka\n    Match *\n    Brokers b:9092\n    rdkafka.request.required.acks 1\n"
        "[OUTPUT]\n    Name stdout\n",
        "Fluent Bit",
        {
            "consumer 3": {
                "enable.auto.commit": "false",
                "group.id": "fluent-bit",
                "bootstrap.servers": "b:9092",
            },
            "producer 7": {"bootstrap.servers": "b:9092", "request.required.acks": "1"},
        },
    ),
    (
        "fluent-bit.yaml",
        "pipeline:\n  outputs:\n    - name: kafka\n      rdkafka.acks: 0\n    - name: stdout\n",
        "Fluent Bit",
        {"producer 0": {"acks": "0"}},
    ),
    (
        "topics.txt",
        "Topic:orders\tPartitionCount:3\tReplicationFactor:1\tConfigs:cleanup.policy=compact,delete,min.insync.replicas=2\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
        "Topic: a\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
        "Topic: b\tTopicId: y\tPartitionCount: 9\tReplicationFactor: 3\tConfigs: \n",
        "kafka-topics --describe",
        {
            "topic orders": {
                "partitions": "3",
                "replication.factor": "1",
                "cleanup.policy": "compact,delete",
                "min.insync.replicas": "2",
            },
            "topic a and b": {"partitions": "1", "replication.factor": "3"},
        },
    ),
    (
        "configs.txt",
        "Dynamic configs for topic orders are:\n"
        "  min.insync.replicas=1 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=1}\n"
        "All configs for broker 1 are:\n"
        "  log.cleaner.threads=1 sensitive=false synonyms={DEFAULT_CONFIG:log.cleaner.threads=1}\n"
        "  ssl.key.password=null sensitive=true synonyms={}\n"
        "  unclean.leader.election.enable=true sensitive=false synonyms={STATIC_BROKER_CONFIG:x=true}\n"
        "Quota configs for user-principal 'u' are producer_byte_rate=1024\n"
        "Configs for topic 'old' are cleanup.policy=compact,delete,retention.ms=5\n",
        "kafka-configs --describe",
        {
            "topic orders": {"min.insync.replicas": "1"},
            "broker 1": {"unclean.leader.election.enable": "true"},
            "topic old": {"cleanup.policy": "compact,delete", "retention.ms": "5"},
        },
    ),
]


@pytest.mark.parametrize(("name", "text", "format_", "sections"), OTHERS, ids=[one[2] for one in OTHERS])
def test_a_format_is_read_with_its_own_names_and_defaults(
    name: str, text: str, format_: str, sections: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    for shape in (text, text.replace("\n", "\r\n"), f"\ufeff{text}"):
        file = read(tmp_path, name, shape)
        assert (file.format, shown(file)) == (format_, sections)


def test_what_is_recognised_and_not_read_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text, says in (
        ("a.yaml", "apiVersion: kafka.strimzi.io/v1\nkind: KafkaUser\nspec: {}\n", "Strimzi resource"),
        ("vector.yaml", "sinks: {k: {type: kafka, librdkafka_options: {acks: '1'}}}\n", "Vector"),
        ("vector.toml", '[sinks.k]\ntype = "kafka"\n', "Vector"),
        ("schema-registry.properties", "kafkastore.bootstrap.servers=b:1\n", "Schema Registry"),
        ("application.yml", "kafka: {producers: {p: {acks: 1}}}\n", "Micronaut"),
        ("e.yaml", "name: x\nsteps: [{write: {records: 1}}]\n", "kafka-chaos plan"),
        ("zoo.cfg", "tickTime=2000\nclientPort=2181\n", "ZooKeeper"),
        ("log4j.properties", "log4j.rootLogger=INFO\n", "logging"),
        ("groups.txt", "GROUP TOPIC PARTITION  CURRENT-OFFSET LAG\ng t 0 5 0\n", "kafka-consumer-groups"),
    ):
        (tmp_path / name).write_text(text)
        assert call(monkeypatch, "audit", str(tmp_path / name)) == 2, name
        told = capsys.readouterr()
        assert says in told.err, told
        assert name in told.err, told
        assert not told.out, told


def test_a_file_of_which_no_name_is_known_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (
        ("empty.properties", ""),
        ("comments.properties", "# acks=all\n"),
        ("pom.properties", "version=1\ngroupId=a\n"),
        ("values.yaml", "replicaCount: 3\nimage: {tag: x}\n"),
        ("trogdor.json", '{"class": "a.B", "partitions": [["n"]]}'),
        ("list.json", "[1, 2]"),
        ("app.env", "DATABASE_URL=x\nKAFKA_HEAP_OPTS=-Xmx1g\n"),
        ("application.yml", "spring: {application: {name: x}}\n"),
        ("sink.json", '{"name": "s", "config": {"connector.class": "a.B", "tasks.max": 1}}'),
        ("topic.txt", "Topic: a\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"),
        ("app.log", "2026-11-20 INFO started\n" * 3),
        ("image.bin", "\0\1\2"),
        ("broken.yaml", "a: [1\nb: 2\n"),
        ("template.yaml", "a: {{ .Values.x }}\nb: {{- end }}\n"),
        ("deep.json", "[" * 1000),
    ):
        (tmp_path / name).write_text(text)
        for arguments in (
            ("audit", name),
            ("run", "--producer-config", name),
            ("run", "--topic-config", name),
        ):
            assert call(monkeypatch, *arguments[:-1], str(tmp_path / name)) == 2, (name, arguments)
        told = capsys.readouterr()
        assert told.err.count(name) == 3, told.err
        assert "Traceback" not in told.err, told.err


def test_a_misspelt_name_alone_is_still_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.properties").write_text("enable.idempotense=true\n")
    assert call(monkeypatch, "audit", str(tmp_path / "p.properties")) == 1


def test_a_file_that_grows_when_it_is_read_is_refused(tmp_path: Path) -> None:
    rows = [f"k{n}: &k{n} [{', '.join(['*k' + str(n - 1) if n else 'x: y'] * 9)}]\n" for n in range(6)]
    with pytest.raises(BadInput, match="not YAML"):
        read(tmp_path, "bomb.yaml", "".join(rows))
    with pytest.raises(BadInput, match="not YAML"):
        read(tmp_path, "itself.yaml", "a: &a {b: *a}\n")


@pytest.mark.soak
def test_files_of_ten_megabytes(tmp_path: Path) -> None:
    noise = "2026-11-20 10:00:00,476 INFO nothing = of interest, and some more words to fill the line\n"
    dump = "INFO ProducerConfig values: \n\tacks = 1\n"
    file = read(tmp_path, "big.log", noise * 60_000 + dump + noise * 60_000)
    assert shown(file) == {"producer": {"acks": "1"}}
    rows = "".join(
        f"Topic: t{n}\tTopicId: aBcDeFgHiJkLmNoPqRsTuV\tPartitionCount: 3\tReplicationFactor: {1 + n % 2}"
        "\tConfigs: \n"
        for n in range(110_000)
    )
    assert [len(section.labels) for section in read(tmp_path, "topics.txt", rows).sections] == [
        55_000,
        55_000,
    ]
    filler = "".join(f"my.own.setting.number.{n}={'x' * 40}\n" for n in range(130_000))
    file = read(tmp_path, "big.properties", f"{filler}acks=1\n")
    assert "acks-1" in {finding.rule for finding in audit_files([file]).findings}
    with pytest.raises(BadInput, match="cannot be read"):
        read(tmp_path, "huge.properties", "acks=1\n" * 3_000_000)


def test_parts_of_one_kind_are_judged_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "mm2.properties").write_text(
        "clusters=a,b\na->b.enabled=true\na.producer.acks=0\nb.producer.acks=all\nb.producer.enable.idempotence=true\n"
    )
    topics = tmp_path / "topics.txt"
    topics.write_text("Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=1\n")
    found = audit_files([read_config(tmp_path / "mm2.properties"), read_config(topics)])
    of = {(one.rule, one.of) for one in found.findings}
    assert {("acks-0", "producer a"), ("acks-all-alone", "topic t with producer b")} <= of
    assert ("acks-0", "producer b") not in of
    assert {setting.of for setting in found.settings if setting.name == "acks"} == {
        "producer a",
        "producer b",
    }


def test_clients_of_two_libraries_keep_their_own_defaults(tmp_path: Path) -> None:
    (tmp_path / "p.yml").write_text("spring.kafka.producer.acks: all\n")
    (tmp_path / "c.json").write_text('{"consumer": {"group.id": "g", "enable.auto.offset.store": "true"}}')
    rules = said(tmp_path / "p.yml", tmp_path / "c.json")
    assert "auto-commit-librdkafka" in rules
    # librdkafka's producer would not be idempotent.
    assert not {"not-idempotent", "auto-commit-java"} & rules
    assert ClientLibrary.JAVA in {section.client for section in read_config(tmp_path / "p.yml").sections}


def test_the_client_of_an_open_format_can_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"acks": "all", "linger.ms": "5"}')
    for chosen, expected in ((None, "librdkafka"), (ClientLibrary.JAVA, "java")):
        found = audit_files([read_config(path, chosen)], chosen)
        assert (found.client, f"client {expected}" in found.read[0]) == (expected, True)


def test_a_placeholder_is_no_value(tmp_path: Path) -> None:
    path = tmp_path / "p.properties"
    path.write_text("acks=${ACKS}\nretries=0\ntransactional.id=${HOSTNAME}-x\nenable.idempotence=true\n")
    found = audit_files([read_config(path)])
    assert {one.rule for one in found.findings} >= {"idempotence-retries"}
    assert not {one.rule for one in found.findings} & {"acks-unknown", "idempotence-acks"}
    assert [(one.name, "filled in later" in one.says) for one in found.unknown] == [("acks", True)]


def test_a_setting_of_another_kind_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.env").write_text("export KAFKA_NODE_ID=1\nKAFKA_ACKS='all'  # of the application\n")
    (one,) = audit_files([read_config(tmp_path / "a.env")]).unknown
    assert (one.name, one.says) == ("acks", "a setting of producer, not of broker")


def test_no_file_shows_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (
        ("application.yml", "spring.kafka.producer: {acks: 1, properties: {sasl.password: S3cret-one}}\n"),
        ("a.env", "KAFKA_SSL_KEYSTORE_PASSWORD=S3cret-two\nKAFKA_MIN_INSYNC_REPLICAS=1\n"),
        ("c.json", '{"acks": "1", "sasl.password": "S3cret-three"}'),
    ):
        (tmp_path / name).write_text(text)
        for more in ((), ("--json",)):
            call(monkeypatch, "audit", str(tmp_path / name), *more)
    told = capsys.readouterr()
    assert "S3cret" not in told.out + told.err
    assert "sasl.password=***" in told.out


def test_the_table_names_what_exists() -> None:
    table = formats()
    for one in table.values():
        assert one.not_read or one.rows, one.name
        assert one.source or not one.defaults, one.name
        for row in one.rows:
            assert row.into in (None, "variables", "file") or row.into in table, (one.name, row)
            assert row.name is None or row.name in known_settings() or row.into, (one.name, row)
        for kind, settings in one.defaults.items():
            for name in settings:
                assert kind in known_settings()[name].kinds, (one.name, name)


def test_the_page_lists_every_format() -> None:
    page = (ROOT / "docs/how-to/your-files.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    for one in formats().values():
        if one.syntax == ():
            continue
        (row,) = [row for row in rows if one.name in row[1].strip().split(", ") or row[1].strip() == one.name]
        assert row[-2].strip() == ("recognised, not read" if one.not_read else "read"), one.name
    for name in ("start-up dump of the Java client", "kafka-topics --describe", "kafka-configs --describe"):
        assert f"| {name} |" in page
