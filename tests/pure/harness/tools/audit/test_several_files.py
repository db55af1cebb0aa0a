"""What several files say together, what they leave open, and the version of Kafka that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.tools.audit.audit_files import audit_files
from harness.tools.audit.audit_result import Audit
from harness.tools.audit.audit_text import lines
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.kafka_version import version_of_image
from tests.support.command_line import call

pytestmark = pytest.mark.pure


def judged(folder: Path, kafka: str | None = None, **texts: str) -> Audit:
    paths = []
    for name, text in texts.items():
        stem, _, suffix = name.rpartition("_")
        paths.append(folder / f"{stem}.{suffix}")
        paths[-1].write_text(text)
    return audit_files([read_config(path) for path in paths], None, kafka)


def test_two_files_with_one_name_for_one_client_are_said_and_not_merged(tmp_path: Path) -> None:
    found = judged(tmp_path, a_properties="acks=1\nlinger.ms=5\n", b_properties="acks=all\nretries=9\n")
    acks = [one for one in found.findings if one.rule == "acks-1"]
    assert [one.of for one in acks] == ["producer a.properties"]
    note = found.notes[0]
    assert note.startswith(f"acks is set in {tmp_path / 'a.properties'} and in {tmp_path / 'b.properties'}: ")
    assert "two of kind producer, not merged" in note
    swapped = judged(tmp_path, b_properties="acks=all\nretries=9\n", a_properties="acks=1\nlinger.ms=5\n")
    assert {one.rule for one in swapped.findings} == {one.rule for one in found.findings}


def test_each_of_two_producers_meets_the_topic_beside_them(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        a_properties="acks=all\nlinger.ms=5\n",
        b_properties="acks=1\nlinger.ms=6\n",
        t_properties="min.insync.replicas=1\nretention.ms=-1\n",
    )
    assert {(one.rule, one.of) for one in found.findings} >= {
        ("acks-all-alone", "producer a.properties"),
        ("acks-1", "producer b.properties"),
    }
    assert "acks and another name are set" in found.notes[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("acks=all\n", "min.insync.replicas=2\n"),
        ("acks=all\nbootstrap.servers=a:1\nclient.id=a\n", "retries=5\nbootstrap.servers=b:1\nclient.id=b\n"),
        ("acks=all\ncompression.type=zstd\n", "log.dirs=/a\ncompression.type=producer\n"),
        ("acks=all\nrequest.timeout.ms=5\n", "group.id=g\nrequest.timeout.ms=6\n"),
    ],
)
def test_files_of_different_subjects_or_names_are_one_configuration(
    one: str, other: str, tmp_path: Path
) -> None:
    notes = judged(tmp_path, a_properties=one, b_properties=other).notes
    assert not [note for note in notes if "merged" in note]


def test_formats_with_kinds_are_not_merged_either(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        application_yml="spring.kafka.producer: {acks: all}\n",
        other_yml="spring.kafka.producer: {acks: '1'}\n",
    )
    assert "acks-1" in {one.rule for one in found.findings}
    assert "not merged" in found.notes[0]
    apart = judged(
        tmp_path, application_yml="spring.kafka.producer: {acks: all}\n", broker_properties="log.dirs=/a\n"
    )
    assert {one.rule for one in apart.findings} == {"acks-all-alone"}


def test_each_setting_of_several_files_says_where_it_stands(tmp_path: Path) -> None:
    found = judged(
        tmp_path, p_properties="# ours\nacks=all\nlinger.ms=ten\n", t_properties="min.insync.replicas=1\n"
    )
    p, t = tmp_path / "p.properties", tmp_path / "t.properties"
    told = list(lines(found))
    assert f"acks=all  ({p}:2)" in told
    assert f"min.insync.replicas=1  ({t}:1)" in told
    assert f"    acks=all ({p}:2), min.insync.replicas=1 ({t}:1)" in told
    assert f"    linger.ms=ten ({p}:3)" in told
    alone = list(lines(judged(tmp_path, p_properties="acks=all\nmin.insync.replicas=1\n")))
    assert {"acks=all", "    acks=all, min.insync.replicas=1"} <= set(alone), "of one file it is clear"


def test_a_risk_of_defaults_alone_names_the_producer_that_has_them(tmp_path: Path) -> None:
    found = judged(tmp_path, a_properties="acks=all\n", b_properties="acks=1\n")
    order = [one for one in found.findings if one.rule == "order"]
    assert [(one.of, one.where) for one in order] == [("producer b.properties", {})]


NOT_GIVEN = "min.insync.replicas was not given, and is 1 by default"


@pytest.mark.parametrize(
    ("texts", "noted"),
    [
        ({"p_properties": "acks=all\n"}, True),
        ({"p_properties": "linger.ms=5\n"}, True),
        ({"p_json": '{"acks": "all", "enable.idempotence": true, "message.timeout.ms": 9000}'}, True),
        ({"p_yml": "spring.kafka.producer: {acks: all}\n"}, True),
        ({"p_properties": "acks=1\n"}, False),
        ({"p_properties": "acks=${ACKS}\n"}, False),
        ({"p_properties": "group.id=g\n"}, False),
        ({"p_properties": "acks=all\n", "t_properties": "min.insync.replicas=2\n"}, False),
        ({"p_properties": "acks=all\n", "t_properties": "retention.ms=-1\n"}, False),
    ],
)
def test_a_producer_alone_is_told_what_was_not_given(
    texts: dict[str, str], noted: bool, tmp_path: Path
) -> None:
    found = judged(tmp_path, **texts)
    assert [note.startswith(NOT_GIVEN) for note in found.notes] == [True] * noted
    text = "\n".join(lines(found))
    assert (NOT_GIVEN in text) is noted
    assert not (noted and "no setting that is known to lose records" in text)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("apache/kafka:4.0.0", "4.0.0"),
        ("apache/kafka-native:3.9.1", "3.9.1"),
        ("docker.io/bitnami/kafka:3.7", "3.7"),
        ("bitnamilegacy/kafka:3.9.0-debian-12-r4", "3.9.0"),
        ("quay.io/strimzi/kafka:0.45.0-kafka-3.9.0", "3.9.0"),
        ("confluentinc/cp-kafka:7.6.1", "3.6"),
        ("confluentinc/cp-server:8.0.0", "4.0"),
        ("confluentinc/cp-kafka:6.2.1", "2.8"),
        ("registry:5000/mirror/apache/kafka:4.1.0@sha256:ab", "4.1.0"),
        ("apache/kafka:latest", None),
        ("apache/kafka", None),
        ("confluentinc/cp-kafka-connect:7.6.1", None),
        ("confluentinc/cp-schema-registry:7.6.1", None),
        ("registry.example/ledger:2", None),
        ("postgres:16.1", None),
        ("bitnami/kafka:2.4.0", None),
        ("confluentinc/cp-kafka:5.5.0", None),
        ("3.9.0", "3.9.0"),
    ],
)
def test_the_version_in_an_image(image: str, version: str | None) -> None:
    assert version_of_image(image) == version


COMPOSE = (
    "services:\n  b: {{image: {0}, environment: {{KAFKA_LOG_DIRS: /a, KAFKA_MIN_INSYNC_REPLICAS: 2}}}}\n"
)


def test_the_image_of_a_compose_file_is_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = judged(tmp_path, compose_yaml=COMPOSE.format("'apache/kafka:3.6.2'"))
    assert (found.kafka, found.kafka_from) == ("3.6.2", "apache/kafka:3.6.2")
    other = judged(tmp_path, kafka="4.1.0", compose_yaml=COMPOSE.format("'apache/kafka:3.6.2'"))
    assert (other.kafka, other.kafka_from) == ("4.1.0", None)
    with_two = COMPOSE.format("'apache/kafka:4.1.0'") + "  c: {image: 'apache/kafka:4.0.0'}\n"
    assert judged(tmp_path, compose_yaml=with_two).kafka == "4.0.0"
    assert judged(tmp_path, compose_yaml=COMPOSE.format("mine:1")).kafka == "4.4.0"
    (tmp_path / "c.yaml").write_text(COMPOSE.format("'apache/kafka:${TAG:-3.9.0}'"))
    assert call(monkeypatch, "audit", str(tmp_path / "c.yaml")) == 0
    assert "for Kafka 3.9.0 (of apache/kafka:3.9.0; --kafka-version" in capsys.readouterr().out


def test_strimzi_and_workloads_name_it_too(tmp_path: Path) -> None:
    strimzi = (
        "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: a}\n"
        "spec: {kafka: {version: 3.8.0, config: {min.insync.replicas: 2}}}\n"
    )
    assert judged(tmp_path, k_yaml=strimzi).kafka == "3.8.0"
    workload = (
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {template: {spec: {containers: "
        "[{image: 'apache/kafka:3.7.0', env: [{name: KAFKA_LOG_DIRS, value: /a}]}]}}}\n"
    )
    assert judged(tmp_path, k_yaml=workload).kafka == "3.7.0"


def test_numbers_of_any_length_are_no_versions_and_no_copies(tmp_path: Path) -> None:
    long = "9" * 5000
    assert version_of_image(f"apache/kafka:{long}.1") is None
    assert version_of_image(f"{long}.1") is None
    text = COMPOSE.format(f"'apache/kafka:{long}.1', scale: {long}")
    assert judged(tmp_path, compose_yaml=text).kafka == "4.4.0"
