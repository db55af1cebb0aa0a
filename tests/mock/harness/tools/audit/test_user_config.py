"""A team's own configuration in place of an experiment's: translated, left out or refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cluster.containers import docker_engine
from harness.model.errors import BadInput
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import load
from harness.tools.audit.user_config import ARM, STANDARD, UserConfig, with_user_config
from tests.support.command_line import call
from tests.support.paths import ROOT

pytestmark = pytest.mark.mock


@pytest.fixture
def standard() -> Experiment:
    return load(STANDARD)


def file(folder: Path, text: str, name: str = "producer.properties") -> Path:
    path = folder / name
    path.write_text(text.replace("; ", "\n"))
    return path


def test_a_java_configuration_has_javas_defaults(standard: Experiment, tmp_path: Path) -> None:
    text = "acks=-1; key.serializer=x; buffer.memory=33554432; max.request.size=2000; request.timeout.ms=4000"
    changed, left_out = with_user_config(
        standard, UserConfig(producer=file(tmp_path, f"{text}; max.block.ms=5"))
    )
    (arm,) = changed.arms
    assert (arm.name, arm.promise) == (ARM, {"lost": "0", "duplicate": "0"})
    assert arm.producer.properties() == {
        "acks": "all",
        "enable.idempotence": True,
        "max.in.flight.requests.per.connection": 5,
        "delivery.timeout.ms": 30_000,
        "request.timeout.ms": 4000,
        "socket.timeout.ms": 4000,
        "queue.buffering.max.kbytes": "32768",
        "message.max.bytes": "2000",
    }
    assert left_out == (
        "key.serializer: librdkafka has no equivalent",
        "max.block.ms: librdkafka has no equivalent",
    )


def test_acks_1_is_not_idempotent_and_still_promised_to_lose_nothing(
    standard: Experiment, tmp_path: Path
) -> None:
    changed, _ = with_user_config(standard, UserConfig(producer=file(tmp_path, "acks=1; linger.ms=0")))
    (arm,) = changed.arms
    assert not arm.producer.enable_idempotence
    assert arm.promise == {"lost": "0", "duplicate": "any"}


def test_librdkafkas_names_and_defaults_stay(standard: Experiment, tmp_path: Path) -> None:
    text = "request.required.acks=all; message.timeout.ms=9000; queue.buffering.max.messages=500"
    changed, left_out = with_user_config(standard, UserConfig(producer=file(tmp_path, text)))
    assert changed.arms[0].producer.properties() == {
        "acks": "all",
        "enable.idempotence": False,
        "delivery.timeout.ms": 9000,
        "queue.buffering.max.messages": "500",
    }
    assert left_out == ()


def test_a_transactional_id_makes_the_workload_transactional(standard: Experiment, tmp_path: Path) -> None:
    changed, _ = with_user_config(
        standard, UserConfig(producer=file(tmp_path, "transactional.id=a; acks=all"))
    )
    assert changed.workload_of(changed.arms[0]).transactional
    assert not standard.workload.transactional


def test_connections_and_secrets_stay_out(standard: Experiment, tmp_path: Path) -> None:
    text = "acks=all; sasl.password=S3cret; ssl.key.pem=S3cret; bootstrap.servers=b:1; my.token=S3cret"
    changed, left_out = with_user_config(standard, UserConfig(producer=file(tmp_path, text)))
    assert "S3cret" not in changed.model_dump_json() + " ".join(left_out)
    assert len(left_out) == 4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("acks=1; enable.idempotence=true", "enable.idempotence needs acks=all"),
        ("acks=all; max.in.flight.requests.per.connection=6", "at most 5"),
        ("acks=all; retires=5", 'No such configuration property: "retires"'),
        ("acks=2", "'0', '1' or 'all'"),
        ("acks=all; message.timeout.ms=1000; linger.ms=2000", "must be greater than `linger.ms`"),
        ("acks=all; queue.buffering.max.messages=many", "Invalid value"),
        ("transactional.id=a; message.timeout.ms=90000", "must not exceed transaction.timeout.ms"),
    ],
)
def test_what_the_client_refuses_is_told(text: str, says: str, standard: Experiment, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        with_user_config(standard, UserConfig(producer=file(tmp_path, text)))
    assert "the client refuses this producer configuration" in str(caught.value)
    assert says in str(caught.value)
    assert "kafka-chaos audit" in str(caught.value)


def test_a_name_that_nobody_has_is_told_with_its_line(standard: Experiment, tmp_path: Path) -> None:
    given = file(tmp_path, "acks=all; retires=5")
    with pytest.raises(BadInput) as caught:
        with_user_config(standard, UserConfig(producer=given))
    assert (caught.value.where, caught.value.expected) == (f"{given}, line 2", "did you mean 'retries'?")
    with pytest.raises(BadInput) as caught:
        with_user_config(standard, UserConfig(producer=file(tmp_path, "acks=all; linger.ms=x")))
    assert (caught.value.where, caught.value.expected) == (str(given), None), "its name is known"


def test_topic_and_brokers(standard: Experiment, tmp_path: Path) -> None:
    topic = file(tmp_path, "replication.factor=2; partitions=5; min.insync.replicas=1", "topic")
    broker = file(tmp_path, "node.id=7; listeners=x; num.io.threads=4; log.dirs=/x; my.password=S3", "broker")
    changed, left_out = with_user_config(standard, UserConfig(topic=topic, broker=broker))
    assert (changed.topic.partitions, changed.topic.replication_factor) == (5, 2)
    assert changed.topic.config == {"min.insync.replicas": "1"}
    assert changed.cluster.properties == {"num.io.threads": "4"}
    assert [line.partition(":")[0] for line in left_out] == [
        "node.id",
        "listeners",
        "log.dirs",
        "my.password",
    ]
    assert [arm.name for arm in changed.arms] == ["recipe"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("min.insync.replica=2", "did you mean 'min.insync.replicas'"),
        ("acks=all", "topics have no setting 'acks'"),
        ("replication.factor=9", "the cluster has 3 broker(s)"),
        ("partitions=many", "topic.partitions"),
    ],
)
def test_a_topic_that_cannot_be_is_refused(
    text: str, says: str, standard: Experiment, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as caught:
        with_user_config(standard, UserConfig(topic=file(tmp_path, text)))
    assert says in str(caught.value)


def test_the_command_line_runs_it_through_the_standard_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.run import executor
    from tests.support.builders.experiments import install

    stand_ins = install(monkeypatch)
    monkeypatch.setattr(
        executor,
        "execute",
        lambda chosen, options: [stand_ins.run_on(None, one, options) for one in chosen],  # type: ignore[arg-type]
    )
    stand_ins.losses = {ARM: 12}
    given = str(file(tmp_path, "acks=1; max.block.ms=5"))
    results = str(tmp_path / "results")
    assert call(monkeypatch, "run", "--producer-config", given, "--results", results, "--json") == 1
    told = capsys.readouterr()
    assert json.loads(told.out)[0]["arms"][0]["folder"] == ARM
    assert "not used: max.block.ms" in told.err
    assert stand_ins.runs[0][0].name == STANDARD


def test_refusals_come_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docker_engine, "connect", lambda: pytest.fail("the engine was asked"))
    given = str(file(tmp_path, "acks=1; enable.idempotence=true"))
    assert call(monkeypatch, "run", "--producer-config", given) == 2
    assert call(monkeypatch, "run", "--producer-config", str(tmp_path / "none")) == 2
    assert call(monkeypatch, "run") == 2
    assert "no experiment is named" in capsys.readouterr().err


def test_a_file_of_an_application_or_a_log_is_read(standard: Experiment, tmp_path: Path) -> None:
    text = "spring: {kafka: {producer: {acks: 1, properties: {linger.ms: 7}}, consumer: {group-id: g}}}"
    changed, left_out = with_user_config(
        standard, UserConfig(producer=file(tmp_path, text, "application.yml"))
    )
    assert changed.arms[0].producer.properties()["acks"] == "1"
    assert changed.arms[0].producer.properties()["linger.ms"] == 7
    assert left_out == ("consumer: only the producer of this file",)
    dump = ROOT / "tests/support/cases/b01-log-dump.txt"
    changed, left_out = with_user_config(standard, UserConfig(producer=dump))
    assert not changed.arms[0].producer.enable_idempotence
    assert not changed.workload_of(changed.arms[0]).transactional
    assert "key.serializer: librdkafka has no equivalent" in left_out


def test_connects_producer_has_connects_defaults(standard: Experiment, tmp_path: Path) -> None:
    text = "key.converter=x; offset.storage.topic=o; producer.linger.ms=3"
    changed, _ = with_user_config(standard, UserConfig(producer=file(tmp_path, text)))
    settings = changed.arms[0].producer
    assert (settings.enable_idempotence, settings.max_in_flight) == (False, 1)
    assert changed.arms[0].promise["duplicate"] == "any"


@pytest.mark.parametrize(
    ("option", "text", "says"),
    [
        ("producer", "clusters=a,b; a.producer.acks=1; b.producer.acks=0", "does not have one producer"),
        ("producer", "a->b.enabled=true", None),
        ("producer", "debezium.sink.type=kafka; debezium.sink.kafka.producer.acks=0", None),
        ("topic", "spring.kafka.producer.acks=1", "this file has no topic"),
        ("broker", "spring.kafka.producer.acks=1", "this file has no broker"),
    ],
)
def test_a_file_without_the_one_part_is_refused(
    option: str, text: str, says: str | None, standard: Experiment, tmp_path: Path
) -> None:
    own = UserConfig(**{option: file(tmp_path, text, "x.properties")})
    if says is None:
        with_user_config(standard, own)
        return
    with pytest.raises(BadInput, match=says):
        with_user_config(standard, own)


def test_brokers_from_a_compose_file_and_topics_from_a_description(
    standard: Experiment, tmp_path: Path
) -> None:
    compose = "services:\n  k: {image: k, environment: {KAFKA_NODE_ID: 1, KAFKA_NUM_IO_THREADS: 4}}\n"
    topic = "Topic: t\tPartitionCount: 5\tReplicationFactor: 2\tConfigs: min.insync.replicas=1\n"
    own = UserConfig(topic=file(tmp_path, topic, "t.txt"), broker=file(tmp_path, compose, "compose.yaml"))
    changed, _ = with_user_config(standard, own)
    assert (changed.topic.partitions, changed.topic.replication_factor) == (5, 2)
    assert changed.topic.config == {"min.insync.replicas": "1"}
    assert changed.cluster.properties == {"num.io.threads": "4"}


def test_what_the_experiment_overrides_is_told(standard: Experiment, tmp_path: Path) -> None:
    text = "min.insync.replicas=1; default.replication.factor=1; log.retention.ms=5000; num.partitions=3"
    broker = file(tmp_path, text, "broker")
    _, told = with_user_config(standard, UserConfig(broker=broker))
    end = "on the topic, so 1 of your file has no effect"
    assert told == (
        f"min.insync.replicas: the experiment sets min.insync.replicas=2 {end}",
        f"default.replication.factor: the experiment sets replication.factor=3 {end}",
    )
    topic = file(tmp_path, "min.insync.replicas=2; retention.ms=60000", "topic")
    _, told = with_user_config(standard, UserConfig(broker=broker, topic=topic))
    assert [line.partition(" sets ")[0] for line in told] == [
        "min.insync.replicas: your topic file",
        "default.replication.factor: the experiment",
        "log.retention.ms: your topic file",
    ]
    arms = load("last-replica")
    _, told = with_user_config(arms, UserConfig(topic=file(tmp_path, "min.insync.replicas=3", "topic")))
    assert told[0].startswith("min.insync.replicas: the experiment sets min.insync.replicas=1 in the arm ")
    assert told[0].endswith("so 3 of your file has no effect")
