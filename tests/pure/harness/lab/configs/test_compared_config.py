"""Files that are compared: what each gives its producers, in what they differ, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lab.configs.compared_config import ComparedConfig, differences, read_configs, unused
from harness.model.errors import BadInput
from tests.support.builders.config_comparisons import written_files

pytestmark = pytest.mark.pure


def configs(folder: Path, *texts: str) -> tuple[ComparedConfig, ...]:
    names = ("a.conf", "b.conf", "c.conf")[: len(texts)]
    return read_configs(written_files(folder, dict(zip(names, texts, strict=True))))


def refusal(folder: Path, *texts: str) -> BadInput:
    with pytest.raises(BadInput) as caught:
        configs(folder, *texts)
    return caught.value


def test_what_differs_has_the_value_of_each_file(tmp_path: Path) -> None:
    read = configs(tmp_path, "acks=1; linger.ms=5", "acks=-1; request.timeout.ms=4000")
    assert differences(read) == {
        "acks": ("1", "all"),
        "enable.idempotence": ("false (not written)", "true (not written)"),
        "request.timeout.ms": ("30000 (not written)", "4000"),
        "socket.timeout.ms": ("60000 (not written)", "4000"),
    }


def test_java_and_librdkafka_have_defaults_of_their_own(tmp_path: Path) -> None:
    read = configs(tmp_path, "acks=all", "request.required.acks=all; queue.buffering.max.messages=7")
    assert differences(read) == {
        "enable.idempotence": ("true (not written)", "false (not written)"),
        "max.in.flight.requests.per.connection": ("5 (not written)", "1000000 (not written)"),
        "queue.buffering.max.messages": ("100000 (not written)", "7"),
    }
    idempotent = configs(
        tmp_path, "acks=all", "request.required.acks=all; enable.idempotence=true; retries=9"
    )
    assert set(differences(idempotent)) == {"retries"}, "librdkafka then has five requests in flight as well"


def test_transactions_are_a_difference(tmp_path: Path) -> None:
    read = configs(tmp_path, "acks=all", "acks=all; transactional.id=orders")
    assert differences(read) == {"transactions": ("false (not written)", "true (not written)")}
    assert read[1].producer.promise == {"lost": "0", "duplicate": "0"}


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("acks=1", "acks=1", "they say the same"),
        ("acks=1; linger.ms=5", "acks=1", "linger.ms (the same in effect)"),
        ("acks=1; linger.ms=9", "acks=1; linger.ms=9.0", "linger.ms (the same in effect)"),
        ("acks=1; client.id=a", "acks=1; client.id=b", "client.id (the same in effect)"),
        (
            "acks=1; bootstrap.servers=a:1; max.block.ms=1",
            "acks=1; bootstrap.servers=b:1; max.block.ms=2",
            "bootstrap.servers (the experiment has its own cluster), "
            "max.block.ms (librdkafka has no equivalent)",
        ),
    ],
)
def test_files_that_do_not_differ_in_anything_that_matters(
    first: str, second: str, found: str, tmp_path: Path
) -> None:
    error = refusal(tmp_path, first, second)
    assert error.what == "these files do not differ in anything that matters to records"
    assert found in str(error.found)


def test_of_three_files_each_must_differ_from_each(tmp_path: Path) -> None:
    error = refusal(tmp_path, "acks=1", "acks=all", "acks=1")
    assert error.where == f"{tmp_path / 'a.conf'}, {tmp_path / 'c.conf'}"
    assert len(configs(tmp_path, "acks=1", "acks=all", "acks=0")) == 3


@pytest.mark.parametrize(
    ("text", "what", "says"),
    [
        ("acks=all; retires=5", "the client refuses this producer configuration", "did you mean 'retries'?"),
        ("acks=all; linger.ms=soon", "the client refuses this producer configuration", "linger.ms"),
        ("acks=1; enable.idempotence=true", "the client refuses this producer configuration", "acks=all"),
        (
            "group.id=g; auto.offset.reset=latest",
            "this file has no setting of a producer",
            "consumer: group.id",
        ),
        ("min.insync.replicas=2", "this file has no setting of a producer", "min.insync.replicas"),
        ("colour=red", "no line of this file sets anything that Kafka's", "properties"),
        ("spring.kafka.consumer.group-id=g", "this file has no producer", "consumer"),
    ],
)
def test_a_file_that_is_none_of_a_producer_is_one_message(
    text: str, what: str, says: str, tmp_path: Path
) -> None:
    error = refusal(tmp_path, "acks=1", text)
    assert error.what.startswith(what)
    assert says in str(error)
    assert str(tmp_path / "b.conf") in str(error.where)


def test_one_file_no_file_and_the_same_file_twice(tmp_path: Path) -> None:
    (path,) = written_files(tmp_path, {"a.conf": "acks=1"})
    (tmp_path / "link.conf").symlink_to(path)
    for paths, what, found in (
        ([], "a comparison needs two files at least", "no file"),
        ([path], "a comparison needs two files at least", str(path)),
        ([path, path], "one file is named twice", None),
        ([path, tmp_path / "link.conf"], "one file is named twice", None),
        ([path, tmp_path / "none.conf"], "the file cannot be read", "No such file or directory"),
    ):
        with pytest.raises(BadInput) as caught:
            read_configs(paths)
        assert (caught.value.what, caught.value.found) == (what, found)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    paths = written_files(tmp_path, {"old/app/p.conf": "acks=1", "new/app/p.conf": "acks=all"})
    assert [config.label for config in read_configs(paths)] == ["old/app/p.conf", "new/app/p.conf"]


def test_what_is_not_used_is_said_once_and_whether_the_files_differ_in_it(tmp_path: Path) -> None:
    read = configs(
        tmp_path,
        "acks=1; key.serializer=s; max.block.ms=1; sasl.password=S3cret; group.id=g",
        "acks=all; key.serializer=s; max.block.ms=2",
    )
    assert list(unused(read)) == [
        "a.conf, b.conf: key.serializer: librdkafka has no equivalent",
        "a.conf, b.conf: max.block.ms: librdkafka has no equivalent, so this difference of the files is not "
        "compared",
        "a.conf: sasl.password: the experiment has its own cluster",
        "a.conf: group.id: not a producer setting",
    ]


def test_another_format_gives_its_producer(tmp_path: Path) -> None:
    spring = "spring: {kafka: {producer: {acks: 1}, consumer: {group-id: g}}}"
    read = read_configs(written_files(tmp_path, {"a.yml": spring, "b.conf": "acks=all"}))
    assert differences(read)["acks"] == ("1", "all")
    assert list(unused(read)) == ["a.yml: consumer: only the producer of this file"]
