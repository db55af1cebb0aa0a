"""The command lines of Spark, Flink and librdkafka, and what their state folders tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.application.builtin import find
from harness.application.builtin.spark import checkpoint
from harness.application.places import Places
from harness.application.programs import flink_copy, librdkafka_copy, spark_stream
from harness.application.programs.lifecycle import JARS_VARIABLE
from harness.model.errors import BadInput

pytestmark = pytest.mark.pure

_PARSERS = {
    "spark-kafka-sink": spark_stream.parser,
    "spark-dedup-sink": spark_stream.parser,
    "spark-table": spark_stream.parser,
    "flink-kafka-sink": flink_copy.parser,
    "librdkafka-copy": librdkafka_copy.parser,
}


def _parsed(name: str, folder: Path, **options: Any) -> tuple[Any, dict[str, str]]:
    built_in = find(name)
    places = Places("b:1", "in", "out", folder, "group", 2, "b:1")
    command = built_in.command(built_in.parsed(options), places, (Path("x.jar"), Path("y.jar")))
    return _PARSERS[name]().parse_args(command.arguments[3:]), command.environment


@pytest.mark.parametrize("name", _PARSERS)
def test_the_program_takes_what_the_command_gives(name: str, tmp_path: Path) -> None:
    parsed, environment = _parsed(name, tmp_path)
    assert (parsed.bootstrap, parsed.input, parsed.output, parsed.state) == ("b:1", "in", "out", tmp_path)
    assert environment == ({} if name == "librdkafka-copy" else {JARS_VARIABLE: "x.jar:y.jar"})


@pytest.mark.parametrize(
    ("name", "options", "sink"),
    [
        ("spark-kafka-sink", {}, "native"),
        ("spark-dedup-sink", {}, "dedup"),
        ("spark-table", {}, "table"),
        ("spark-table", {"sink": "append"}, "append"),
    ],
)
def test_options_of_spark(name: str, options: dict[str, Any], sink: str, tmp_path: Path) -> None:
    plain, _ = _parsed(name, tmp_path, **options)
    assert (plain.sink, plain.fail_on_data_loss, plain.max_offsets, plain.die_in_batch) == (
        sink,
        "true",
        None,
        None,
    )
    more = {"failOnDataLoss": False, "maxOffsetsPerTrigger": 10, "die": "between-write-and-commit"}
    full, _ = _parsed(name, tmp_path, **options, **more)
    assert (full.fail_on_data_loss, full.max_offsets, full.die_in_batch) == ("false", 10, 1)


def test_options_of_flink_and_librdkafka(tmp_path: Path) -> None:
    flink, _ = _parsed("flink-kafka-sink", tmp_path, checkpoint_ms=50, producer={"linger.ms": 0})
    assert (flink.checkpoint_ms, flink.producer, flink.guarantee) == (50, ["linger.ms=0"], "at-least-once")
    assert flink.die_after is None
    dying, _ = _parsed("flink-kafka-sink", tmp_path, die="between-checkpoints", die_after=7)
    assert dying.die_after == 7
    copier, _ = _parsed("librdkafka-copy", tmp_path, guarantee="at-most-once", batch=7)
    assert (copier.guarantee, copier.batch, copier.group, copier.instance) == (
        "at-most-once",
        7,
        "group",
        "2",
    )


def test_a_delta_table_is_refused_with_the_reason() -> None:
    with pytest.raises(BadInput) as raised:
        find("spark-table").parsed({"table": "delta"})
    assert "no release for Spark 4.3" in str(raised.value)


@pytest.mark.parametrize("name", _PARSERS)
def test_another_option_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="does not take these options"):
        find(name).parsed({"dies": "soon"})


def _write(state: Path, folder: str, number: int, text: str) -> None:
    path = state / "checkpoint" / folder / str(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _offsets(**ends: int) -> str:
    partitions = {name.removeprefix("p"): end for name, end in ends.items()}
    return "v1\n{}\n" + json.dumps({"topic": partitions})


def test_the_checkpoint_of_spark_is_that_of_the_newest_committed_batch(tmp_path: Path) -> None:
    assert checkpoint(tmp_path) == {}
    for number in range(11):
        _write(tmp_path, "offsets", number, _offsets(p0=10 * number, p1=number))
        _write(tmp_path, "commits", number, "v1\n{}")
    _write(tmp_path, "commits", 11, "v1\n{}")
    assert checkpoint(tmp_path) == {0: 100, 1: 10}, "batch 11 has no offsets yet"
    _write(tmp_path, "offsets", 12, _offsets(p0=999, p1=999))
    assert checkpoint(tmp_path) == {0: 100, 1: 10}, "batch 12 is not committed"
    _write(tmp_path, "offsets", 11, _offsets(p0=110, p1=11))
    assert checkpoint(tmp_path) == {0: 110, 1: 11}


def test_flink_continues_from_the_newest_complete_checkpoint(tmp_path: Path) -> None:
    assert flink_copy.newest_checkpoint(tmp_path) is None
    for name in ("job/chk-1", "job/chk-2", "job/chk-10", "job/shared"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert flink_copy.newest_checkpoint(tmp_path) is None, "none is complete"
    for name in ("job/chk-1", "job/chk-2"):
        (tmp_path / "checkpoints" / name / "_metadata").touch()
    assert flink_copy.newest_checkpoint(tmp_path) == tmp_path / "checkpoints" / "job" / "chk-2"
