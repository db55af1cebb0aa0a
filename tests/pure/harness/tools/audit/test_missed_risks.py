"""Risks of frameworks, of several copies and of added partitions, as users' own files have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.config.properties import parse_properties
from harness.tools.audit.audit import audit
from harness.tools.audit.audit_files import audit_files
from harness.tools.audit.audit_result import Audit, AuditFinding
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.known_settings import ClientLibrary

pytestmark = pytest.mark.pure

JAVA, RDK = ClientLibrary.JAVA, ClientLibrary.LIBRDKAFKA


def judged(folder: Path, *texts: str, name: str = "file.yaml") -> Audit:
    paths = [folder / f"{number}-{name}" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return audit_files([read_config(path) for path in paths])


def shared(found: Audit) -> list[AuditFinding]:
    return [one for one in found.findings if one.rule.startswith("shared-")]


CONNECTORS = {
    "Strimzi": "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata: {{name: archive}}\n"
    "spec: {{class: io.example.Archive, config: {{topics: returns, {0}}}}}\n",
    "REST": "{{name: archive, config: {{connector.class: io.example.Archive, topics.regex: r.*, {0}}}}}\n",
    "several": "{{archive: {{info: {{config: {{connector.class: io.example.SinkTask, {0}}}}}}}}}\n",
}


@pytest.mark.parametrize("shape", CONNECTORS)
def test_a_sink_that_tolerates_errors_and_keeps_nothing(shape: str, tmp_path: Path) -> None:
    def rules(settings: str) -> set[str]:
        return {one.rule for one in judged(tmp_path, CONNECTORS[shape].format(settings)).findings}

    assert rules("errors.tolerance: all") == {"tolerated-errors"}
    assert rules("errors.tolerance: all, errors.deadletterqueue.topic.name: dead") == set()
    assert rules("errors.tolerance: none") == set()


def test_a_properties_file_of_a_source(tmp_path: Path) -> None:
    text = "name=s\nconnector.class=io.example.JdbcSource\nerrors.tolerance=all\n"
    found = judged(tmp_path, text, name="source.properties")
    assert [one.rule for one in found.findings] == ["tolerated-errors-source"]


CONTINUES = "org.apache.kafka.streams.errors.LogAndContinue"
STREAMS = {
    "Spring Boot": f"spring.kafka.streams: {{application-id: a, properties: "
    f"{{default.deserialization.exception.handler: {CONTINUES}ExceptionHandler}}}}\n",
    "Spring Cloud Stream": "spring.cloud.stream.kafka.streams.binder: "
    "{deserializationExceptionHandler: logAndContinue}\n",
    "a binding": "spring.cloud.stream.kafka.streams.bindings.in-0.consumer: "
    "{deserialization-exception-handler: skipAndContinue}\n",
    "Quarkus": f"kafka-streams.processing.exception.handler: {CONTINUES}ProcessingExceptionHandler\n"
    "quarkus.kafka-streams.application-id: a\n",
    "Streams": f"application.id: a\nprocessing.exception.handler: {CONTINUES}ProcessingExceptionHandler\n",
    "Streams, by its own name": f"deserialization.exception.handler: {CONTINUES}ExceptionHandler\n",
}


@pytest.mark.parametrize("shape", STREAMS)
def test_a_handler_of_streams_that_goes_on(shape: str, tmp_path: Path) -> None:
    def rules(text: str) -> set[str]:
        found = judged(tmp_path, text).findings
        return {one.rule for one in found if one.rule.startswith("streams-continues")}

    assert len(rules(STREAMS[shape])) == 1
    fails = STREAMS[shape].replace("Continue", "Fail").replace("skipAnd", "logAnd")
    assert rules(fails) == set()


COMPOSE = """services:
  ledger:
    image: registry.example/ledger:2
    {copies}
    environment:
      SPRING_KAFKA_PRODUCER_ACKS: all
      SPRING_KAFKA_PRODUCER_TRANSACTION_ID_PREFIX: "{prefix}"
"""
WORKLOAD = """apiVersion: apps/v1
kind: {kind}
metadata: {{name: ledger}}
spec:
  {copies}
  template:
    spec:
      containers:
        - name: app
          env:
            - {{name: SPRING_KAFKA_CONSUMER_GROUP_ID, value: bills}}
            - {{name: SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_INSTANCE_ID, value: "{value}"}}
"""


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        ("deploy: {replicas: 2}", "ledger runs 2 copies"),
        ("scale: 3", "ledger runs 3 copies"),
        ("deploy: {mode: global}", "ledger runs a copy on each node"),
    ],
)
def test_copies_of_a_service_with_one_transactional_id(copies: str, words: str, tmp_path: Path) -> None:
    for prefix in ("ledger-", "${TX:-ledger-}"):
        (found,) = shared(judged(tmp_path, COMPOSE.format(copies=copies, prefix=prefix)))
        assert found.rule == "shared-transactional-id"
        assert found.says.startswith(f"{words}, which have one transactional.id, ledger-: ")
    for prefix in (
        "ledger-$${HOSTNAME}-",
        "ledger-{{.Task.Slot}}",
        "ledger-$${HOSTNAME:here}",
        "$${TX:a}",
        "",
    ):
        assert shared(judged(tmp_path, COMPOSE.format(copies=copies, prefix=prefix))) == [], prefix
    for alone in ("scale: 1", "deploy: {replicas: 1}", "restart: always", "deploy: {mode: replicated}"):
        assert shared(judged(tmp_path, COMPOSE.format(copies=alone, prefix="ledger-"))) == [], alone


@pytest.mark.parametrize(
    ("kind", "copies", "several"),
    [
        ("Deployment", "replicas: 4", True),
        ("StatefulSet", "replicas: 2", True),
        ("DaemonSet", "", True),
        ("Job", "parallelism: 2", True),
        ("Deployment", "replicas: 1", False),
        ("Deployment", "", False),
        ("Job", "parallelism: 1", False),
    ],
)
def test_replicas_of_a_workload_with_one_member_id(
    kind: str, copies: str, several: bool, tmp_path: Path
) -> None:
    found = shared(judged(tmp_path, WORKLOAD.format(kind=kind, copies=copies, value="bills-1")))
    assert [one.rule for one in found] == ["shared-group-instance-id"] * several
    assert all(one.finding == "redelivered" for one in found)
    assert shared(judged(tmp_path, WORKLOAD.format(kind=kind, copies=copies, value="$(POD)"))) == []


TWO = """services:
  a: {{image: x, environment: [SPRING_KAFKA_CONSUMER_GROUP_ID={0}, {1}=m-1]}}
  b: {{image: x, environment: [SPRING_KAFKA_CONSUMER_GROUP_ID={2}, {1}={3}]}}
"""
INSTANCE = "SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_INSTANCE_ID"


def test_two_services_with_one_id(tmp_path: Path) -> None:
    (found,) = shared(judged(tmp_path, TWO.format("g", INSTANCE, "g", "m-1")))
    assert found.says.startswith("a and b have one group.instance.id, m-1: ")
    assert shared(judged(tmp_path, TWO.format("g", INSTANCE, "h", "m-1"))) == []
    assert shared(judged(tmp_path, TWO.format("g", INSTANCE, "g", "m-2"))) == []


def test_one_id_by_an_anchor_in_two_services_and_in_two_files(tmp_path: Path) -> None:
    anchored = (
        "x-env: &env {SPRING_KAFKA_PRODUCER_TRANSACTION_ID_PREFIX: t}\n"
        "services:\n  a: {image: x, environment: *env}\n  b: {image: x, environment: *env}\n"
    )
    assert [one.rule for one in shared(judged(tmp_path, anchored))] == ["shared-transactional-id"]
    file = WORKLOAD.format(kind="Deployment", copies="replicas: 1", value="m")
    (found,) = shared(judged(tmp_path, file, file.replace("name: ledger", "name: other")))
    first, second = found.where["group.instance.id"].split(" and ")
    assert (first.rpartition(":")[0], second.rpartition(":")[0]) == (
        str(tmp_path / "0-file.yaml"),
        str(tmp_path / "1-file.yaml"),
    )
    assert shared(judged(tmp_path, file, file)) == []


def test_two_containers_of_one_pod(tmp_path: Path) -> None:
    file = WORKLOAD.format(kind="Pod", copies="", value="m")
    container = file.partition("      containers:\n")[2]
    (found,) = shared(judged(tmp_path, file + container.replace("app", "other")))
    assert found.says.startswith("ledger container 1 and ledger container 2 have one group.instance.id")


def test_profiles_and_frameworks_are_not_several(tmp_path: Path) -> None:
    profiles = (
        "spring.kafka.producer.transaction-id-prefix: t\n---\n"
        "spring.config.activate.on-profile: prod\nspring.kafka.producer.acks: all\n"
    )
    assert shared(judged(tmp_path, profiles)) == []
    streams = "application.id: a\nprocessing.guarantee: exactly_once_v2\n"
    assert shared(judged(tmp_path, streams)) == []
    channels = (
        "kafka.transactional.id=t\nmp.messaging.outgoing.a.connector=smallrye-kafka\n"
        "mp.messaging.outgoing.b.connector=smallrye-kafka\n"
    )
    assert shared(judged(tmp_path, channels, name="q.properties")) == []
    own = channels.replace("kafka.transactional.id=t\n", "") + "".join(
        f"mp.messaging.outgoing.{one}.transactional.id=t\n" for one in "ab"
    )
    assert len(shared(judged(tmp_path, own, name="q.properties"))) == 1


def latest(text: str, client: ClientLibrary = JAVA, kafka: str = "4.4.0") -> AuditFinding:
    entries = parse_properties(text.replace("; ", "\n"), "my.properties")
    return next(one for one in audit(entries, client, kafka).findings if one.rule == "latest")


def test_the_cure_for_latest_is_that_of_the_client() -> None:
    assert "added partitions" in latest("group.id=g").says
    assert "auto.offset.reset=by_duration:PT6M," in latest("group.id=g").do
    assert "by_duration:PT2M," in latest("group.id=g; metadata.max.age.ms=60000").do
    assert "by_duration:PT5S," in latest("group.id=g; group.protocol=consumer").do
    for other in (latest("group.id=g", RDK), latest("group.id=g", kafka="3.9.2")):
        assert other.do == "set auto.offset.reset=earliest where every record counts"


def test_acks_1_is_said_to_lose_in_planned_moves() -> None:
    (found,) = (one for one in audit(parse_properties("acks=1", "p"), JAVA).findings if one.rule == "acks-1")
    assert "leadership is moved as planned" in found.says
    assert "KAFKA-20554" in found.source
