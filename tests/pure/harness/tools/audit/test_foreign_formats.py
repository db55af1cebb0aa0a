"""What is no file of settings is never read as properties; charts and Terraform are read where Kafka's own
names stand in them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from harness.model.config.flat_files import documents
from harness.model.config.terraform import terraform_lines
from harness.model.errors import BadInput
from harness.tools.audit.audit_files import audit_files
from harness.tools.audit.config_file import ConfigFile
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.names_in_text import inner_name, kafka_names

pytestmark = pytest.mark.pure

HOCON = """
orders {
  kafka {
    producer { acks = "1", retries = 0 }
    consumer {
      auto.offset.reset = "latest"
    }
  }
}
"""
TOML = '[orders.producer]\nacks = "1"\nretries = 0\n"enable.idempotence" = false\n'
RUBY = 'settings = {\n  "acks" => 1,\n  "enable.idempotence" => false\n}\n'
JAVA = 'class A {\n    void x(Properties p) {\n        p.put("acks", "0");\n    }\n}\n'
JAVA_LINES = 'props.put("acks", "1");\nprops.put(ProducerConfig.RETRIES_CONFIG, 0);\n'
PYTHON = "from confluent_kafka import Producer\n\nacks = 1\nsender = Producer({'acks': acks})\n"
PYTHON_LINES = 'conf = {\n    "acks": "1",\n    "enable.idempotence": False,\n}\n'
GO = 'p, err := kafka.NewProducer(&kafka.ConfigMap{\n    "acks": 1,\n})\n'
CSHARP = "var config = new ProducerConfig\n{\n    Acks = Acks.Leader,\n    EnableIdempotence = false,\n};\n"
TYPESCRIPT = "export const producer = {\n  acks: 1,\n  retries: 0,\n}\n"
JAVASCRIPT = "const producer = kafka.producer({\n  acks: 0,\n  idempotent: false,\n})\n"
FRAGMENT = "acks: 1,\nretries: 0,\n'enable.idempotence': false,\n"
XML = '<beans>\n  <entry key="acks" value="1"/>\n</beans>\n'
INI = "[producer]\nacks = 1\n[consumer]\nauto.offset.reset = latest\n"


def refused(folder: Path, name: str, text: str) -> BadInput:
    (folder / name).write_text(text)
    with pytest.raises(BadInput) as error:
        read_config(folder / name)
    return error.value


def read(folder: Path, name: str, text: str) -> ConfigFile:
    (folder / name).write_text(text)
    return read_config(folder / name)


def shown(file: ConfigFile) -> dict[str, dict[str, str]]:
    return {section.title: {one.name: one.value for one in section.entries} for section in file.sections}


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("application.conf", HOCON, "HOCON"),
        ("hocon", HOCON, "HOCON"),
        ("a.toml", TOML, "TOML"),
        ("toml", TOML, "TOML"),
        ("flat", 'acks = "1"\nretries = 0\n', "TOML"),
        ("a.rb", RUBY, "program"),
        ("ruby", RUBY, "program"),
        ("A.java", JAVA, "program"),
        ("java", JAVA_LINES, "program"),
        ("a.py", "acks = 1\nretries = 0\n", "program"),
        ("python", PYTHON, "program"),
        ("python", PYTHON_LINES, "program"),
        ("go", GO, "program"),
        ("csharp", CSHARP, "program"),
        ("a.ts", "acks: 1\nretries: 0\n", "program"),
        ("typescript", TYPESCRIPT, "program"),
        ("javascript", JAVASCRIPT, "program"),
        ("fragment", FRAGMENT, "program"),
        ("a.xml", XML, "XML"),
        ("xml", XML, "XML"),
        ("a.ini", INI, "sections in brackets"),
        ("a.env", "Kafka__Producer__Acks=1\nKafka__Consumer__AutoOffsetReset=Latest\n", ".NET configuration"),
        ("letter.txt", "Dear all, acks is 1 now\nand that is that\nBest wishes\n", "text"),
        ("locals.tf", 'locals {\n  a = { "min.insync.replicas" = "1" }\n}\n', "Terraform without topics"),
    ],
)
def test_what_is_no_file_of_settings_is_named(tmp_path: Path, name: str, text: str, what: str) -> None:
    for shape in (text, text.replace("\n", "\r\n"), f"\ufeff{text}"):
        error = refused(tmp_path, name, shape)
        assert error.what == f"{what}: recognised, not read"
        assert "names of Kafka stand in it" in str(error.found), error
        assert "properties" in str(error.next_step)


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        # What Java takes for a part of the value is told of a file that is Java's.
        ("p.properties", 'acks="1"\n', {"acks": '"1"'}),
        ("p.conf", "acks=1\nenable.idempotence=false\n", {"acks": "1", "enable.idempotence": "false"}),
        ("blanks", "acks 1\nenable.idempotence false\n", {"acks": "1", "enable.idempotence": "false"}),
        ("colons", "acks: 1\nlinger.ms: 5\n", {"acks": "1", "linger.ms": "5"}),
        ("quoted", 'acks: "1"\nretries: 0\n', {"acks": "1", "retries": "0"}),
        ("regex", "acks=1\ntopics = orders(.*)\n", {"acks": "1", "topics": "orders(.*)"}),
        ("list", "acks=1\nbootstrap.servers=a:1,\\\n  b:1\n", {"acks": "1", "bootstrap.servers": "a:1,b:1"}),
        ("one-quoted", 'acks=1\nclient.id="x"\n', {"acks": "1", "client.id": '"x"'}),
        ("jaas", 'acks=1\nsasl.jaas.config=a.B u="x";\n', {"acks": "1", "sasl.jaas.config": 'a.B u="x";'}),
    ],
)  # fmt: skip
def test_a_file_of_settings_is_read(tmp_path: Path, name: str, text: str, values: dict[str, str]) -> None:
    if name == "one-quoted":
        text, values = f"{text}linger.ms=fast\n", {**values, "linger.ms": "fast"}
    (settings,) = shown(read(tmp_path, name, text)).values()
    assert settings == values


def test_a_chart_is_read_where_kafkas_own_names_stand_in_it(tmp_path: Path) -> None:
    overrides = "cp-kafka:\n  brokers: 3\n  configurationOverrides:\n    'min.insync.replicas': '1'\n"
    assert list(shown(read(tmp_path, "a.yaml", overrides)).values()) == [{"min.insync.replicas": "1"}]
    block = "kafka:\n  config: |\n    # why\n    default.replication.factor=3\n    min.insync.replicas=1\n"
    (settings,) = shown(read(tmp_path, "b.yaml", block)).values()
    assert settings == {"default.replication.factor": "3", "min.insync.replicas": "1"}
    strimzi = "kafka:\n  replicas: 3\n  config:\n    offsets.topic.replication.factor: 1\n"
    assert list(shown(read(tmp_path, "c.yaml", strimzi))) == ["broker kafka.config"]
    for rules in (overrides, block):
        path = tmp_path / "again.yaml"
        path.write_text(rules)
        assert "minisr-one" in {one.rule for one in audit_files([read_config(path)]).findings}


def test_topics_of_charts_and_tools_are_told_apart(tmp_path: Path) -> None:
    gitops = (
        "topics:\n  orders.v1:\n    partitions: 6\n    replication: 3\n    configs:\n"
        "      min.insync.replicas: 1\n"
        "  bills:\n    partitions: 1\n    configs: {cleanup.policy: compact}\n"
    )
    assert shown(read(tmp_path, "state.yaml", gitops)) == {
        "topic topics.orders.v1": {"partitions": "6", "replication.factor": "3", "min.insync.replicas": "1"},
        "topic topics.bills": {"partitions": "1", "cleanup.policy": "compact"},
    }
    julie = (
        "projects:\n  - name: a\n    topics:\n      - name: orders\n        config:\n"
        '          replication.factor: "1"\n          num.partitions: "3"\n'
    )
    assert list(shown(read(tmp_path, "topology.yaml", julie)).values()) == [
        {"replication.factor": "1", "partitions": "3"}
    ]
    bitnami = "x:\n  topics:\n    - name: a\n      replicationFactor: 1\n      config: {retention.ms: 5}\n"
    assert list(shown(read(tmp_path, "values.yaml", bitnami)).values()) == [
        {"replication.factor": "1", "retention.ms": "5"}
    ]


def test_resources_of_confluents_operator(tmp_path: Path) -> None:
    broker = (
        "apiVersion: platform.confluent.io/v1beta1\nkind: Kafka\nmetadata: {name: k}\n"
        "spec:\n  configOverrides:\n"
        "    server: [min.insync.replicas=1, 'listeners=A://:1,B://:2', log.retention.ms=5]\n"
    )
    assert shown(read(tmp_path, "a.yaml", broker)) == {
        "broker k": {"min.insync.replicas": "1", "listeners": "A://:1,B://:2", "log.retention.ms": "5"}
    }
    topic = (
        "apiVersion: platform.confluent.io/v1beta1\nkind: KafkaTopic\nmetadata: {name: t}\n"
        "spec: {replicas: 3, partitionCount: 4, configs: {min.insync.replicas: '1'}}\n"
    )
    assert shown(read(tmp_path, "b.yaml", topic)) == {
        "topic t": {"replication.factor": "3", "partitions": "4", "min.insync.replicas": "1"}
    }
    assert (
        "resource of another kind" in refused(tmp_path, "c.yaml", topic.replace("KafkaTopic", "Connect")).what
    )


def test_a_chart_with_names_of_its_own_is_named(tmp_path: Path) -> None:
    error = refused(
        tmp_path, "values.yaml", "kafka:\n  defaultReplicationFactor: 1\n  minInsyncReplicas: 1\n"
    )
    assert error.what == "this file has names of Kafka where they are not read"
    assert "min.insync.replicas" in str(error.found)
    assert "helm template" in str(error.next_step)
    # Near miss: an application's own block of properties is not a broker's.
    error = refused(tmp_path, "values.yaml", "app:\n  config: |\n    log.level=debug\n    my.name=x\n")
    assert error.what.startswith("no line of this file sets anything")


TERRAFORM = """
variable "acks" { default = "1" } # of something else
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = var.partitions
  replication_factor = 3
  config = {
    "cleanup.policy" = "compact", "retention.ms" : 5
    "min.insync.replicas" = "${var.isr}"
  }
}
resource "aiven_kafka_topic" "bills" {
  partitions = 1
  config {
    min_insync_replicas = 1
  }
}
/* resource "kafka_topic" "none" { */
resource "aws_msk_configuration" "m" {
  server_properties = <<-EOT
    min.insync.replicas=1
    auto.create.topics.enable = false
  EOT
}
"""


def test_terraform_is_read_where_a_value_is_a_literal(tmp_path: Path) -> None:
    file = read(tmp_path, "main.tf", TERRAFORM)
    assert file.format == "Terraform"
    assert shown(file) == {
        "topic orders": {
            "partitions": "${var.partitions}",
            "replication.factor": "3",
            "cleanup.policy": "compact",
            "retention.ms": "5",
            "min.insync.replicas": "${var.isr}",
        },
        "topic bills": {"partitions": "1", "min.insync.replicas": "1"},
        "broker m": {"min.insync.replicas": "1", "auto.create.topics.enable": "false"},
    }
    lines = {one.name: one.line for one in terraform_lines(TERRAFORM, "main.tf")}
    assert lines["resource.kafka_topic.orders.config.min.insync.replicas"] == 9


def test_a_topic_whose_settings_are_an_expression_is_not_judged(tmp_path: Path) -> None:
    text = (
        'resource "kafka_topic" "a" {\n  partitions = 3\n  replication_factor = 3\n'
        '  config = merge(local.defaults, { "min.insync.replicas" = "1" })\n}\n'
    )
    assert refused(tmp_path, "a.tf", text).what == "this file has names of Kafka where they are not read"
    both = read(
        tmp_path, "b.tf", f'{text}resource "kafka_topic" "b" {{\n  config = {{ "retention.ms" = 5 }}\n}}\n'
    )
    assert list(shown(both)) == ["topic b"]


@pytest.mark.parametrize(
    "text", ["<<A\n" * 9000, "/* " * 9000, "a {\n", "}\n", 'resource "a" "b" {\n  x = [1,\n', "a {" * 2000]
)
def test_terraform_that_does_not_close_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="not Terraform"):
        terraform_lines(text, "a.tf")


@pytest.mark.parametrize(
    "text",
    [
        '{"a.consumer.client.auto.offset.reset": "earliest", "a.consumer.client.enable.auto.commit": 1}',
        '{"kafka.orders.auto.offset.reset": "earliest", "kafka.orders.group.id": "x"}',
        '{"Kafka": {"Producer": {"Acks": "Leader", "EnableIdempotence": false}}}',
    ],
)
def test_no_client_is_made_of_names_with_an_unknown_rest(tmp_path: Path, text: str) -> None:
    error = refused(tmp_path, "a.json", text)
    assert error.what == "this file has names of Kafka where they are not read"


def test_no_default_is_judged_that_the_file_may_contradict(tmp_path: Path) -> None:
    def rules(text: str) -> set[str]:
        file = read(tmp_path, "a.json", text)
        return {one.rule for one in audit_files([file]).findings}

    near = '{"consumer": {"group.id": "g", "client.id": "x"}}'
    assert "latest" in rules(near)
    assert "latest" not in rules('{"consumer": {"group.id": "g", "other.auto.offset.reset": "earliest"}}')
    assert "latest" not in rules(
        near[:-1] + ', "a.consumer.client.auto.offset.reset": "earliest", "group.id": "g"}'
    )
    # What stands in the file itself is judged, whatever else it has.
    assert "acks-1" in rules('{"acks": "1", "a.producer.options.acks": "all"}')
    file = read(tmp_path, "a.json", '{"acks": "all", "a.producer.options.enable.idempotence": "true"}')
    assert any("enable.idempotence" in note for note in file.notes)


def test_two_producers_below_keys_of_their_own_are_two(tmp_path: Path) -> None:
    text = "orders: {producer: {acks: '1'}}\nbills: {producer: {acks: all}}\n"
    assert shown(read(tmp_path, "a.yaml", text)) == {
        "producer orders": {"acks": "1"},
        "producer bills": {"acks": "all"},
    }


def test_a_misspelt_name_of_a_client_is_still_answered(tmp_path: Path) -> None:
    audit = audit_files([read(tmp_path, "a.json", '{"producer": {"enable.idempotense": "true"}}')])
    assert [one.did_you_mean for one in audit.unknown] == ["enable.idempotence"]


def test_services_are_a_compose_file_only_with_image_or_build(tmp_path: Path) -> None:
    wiring = (
        'services:\n  shop.sender:\n    arguments: {$settings: {acks: "1", enable.idempotence: "false"}}\n'
    )
    error = refused(tmp_path, "a.yaml", wiring)
    assert error.what == "this file has names of Kafka where they are not read"
    assert "Compose" not in str(error)
    error = refused(tmp_path, "b.yaml", "services:\n  a:\n    command: [x]\n")
    assert "Compose" not in str(error)
    error = refused(tmp_path, "c.yaml", "services:\n  a:\n    build: .\n    command: [x]\n")
    assert "Compose file" in str(error)
    overrides = "services:\n  k:\n    environment: {KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE: 'true'}\n"
    assert shown(read(tmp_path, "d.yaml", overrides)) == {
        "broker k": {"unclean.leader.election.enable": "true"}
    }


def test_names_of_kafka_are_found_in_any_spelling() -> None:
    assert kafka_names("x.AutoOffsetReset, KAFKA_CFG_MIN_INSYNC_REPLICAS; Kafka__Producer__Acks") == (
        "min.insync.replicas",
        "acks",
    )
    assert kafka_names("enableIdempotence = 1") == ("enable.idempotence",)
    # Near misses: words that other software has, too.
    assert kafka_names("client.id retries partitions version acknowledge packs") == ()
    assert inner_name("a.b.auto.offset.reset") == "auto.offset.reset"
    assert inner_name("auto.offset.resets") is None


@pytest.mark.parametrize("name", ["a.tf", "a.toml", "a.rb", "a.conf", "a"])
@pytest.mark.parametrize(
    "text", ["", "=", "= x", "{", "}", "a = ", "\\", "a = <<E\n", '"', "[", "[a]\n=", "x {{ y", "[a" * 20_000]
)
def test_any_text_is_answered(name: str, text: str) -> None:
    with suppress(BadInput):
        assert all(one.syntax for one in documents(text, name))
