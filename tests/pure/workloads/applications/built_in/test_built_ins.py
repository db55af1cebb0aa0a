"""The descriptions of built-in applications, their command lines, and what their state folders tell."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import compose
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput
from workloads.applications.application_spec import ApplicationSpec
from workloads.applications.built_in import __main__ as program
from workloads.applications.built_in import flink_copy, kafka_streams
from workloads.applications.built_in.built_in import BUILT_IN, MavenJars, find, processed_offsets
from workloads.applications.built_in.lifecycle import JARS_VARIABLE, READY, parsed
from workloads.applications.launch import Prepared, command_of

pytestmark = pytest.mark.pure

_ALL = BUILT_IN.builtin_names()
_COMMON = {"commit_interval_ms": 500, "settings": {"a.b": "c=d"}}
_KAFKAS_OWN = {
    "kafka-streams": {"guarantee": "exactly_once_v2", **_COMMON},
    "mirrormaker": {"guarantee": "exactly-once", **_COMMON},
    "connect-mirror": {"guarantee": "exactly-once", **_COMMON},
    "connect-file-source": {"guarantee": "exactly-once", **_COMMON},
    "connect-file-sink": _COMMON,
}


def _parsed(name: str, folder: Path, **options: Any) -> tuple[argparse.Namespace, dict[str, str]]:
    """What the program of a built-in is told, and its environment."""
    built_in = find(name)
    spec = ApplicationSpec.model_validate({"run": {"builtin": name}})
    jars = (Path("x.jar"), Path("y.jar")) if built_in.jars is not None else ()
    command = command_of(
        Prepared(spec, built_in, built_in.parsed(options), jars),
        {
            "bootstrap": "b:1",
            "output_bootstrap": "c:1",
            "input": "in",
            "output": "out",
            "state": str(folder),
            "group": "group",
            "instance": "2",
        },
    )
    assert command.arguments[1:4] == ("-m", "workloads.applications.built_in", name)
    again, told = parsed(command.arguments[3:])
    assert again == built_in
    return told, command.environment


def test_all_that_there_are() -> None:
    assert _ALL == (
        "connect-file-sink",
        "connect-file-source",
        "connect-mirror",
        "flink-kafka-sink",
        "kafka-streams",
        "librdkafka-copy",
        "mirrormaker",
        "mirrormaker-failover",
        "spark-dedup-sink",
        "spark-kafka-sink",
        "spark-table",
    )


@pytest.mark.parametrize("name", _ALL)
def test_the_program_takes_what_the_command_gives(name: str, tmp_path: Path) -> None:
    told, environment = _parsed(name, tmp_path)
    assert (told.bootstrap, told.input, told.output, told.state) == ("b:1", "in", "out", tmp_path)
    assert (told.output_bootstrap, told.group, told.instance) == ("c:1", "group", "2")
    assert environment == ({} if name == "librdkafka-copy" else {JARS_VARIABLE: "x.jar:y.jar"})


@pytest.mark.parametrize("name", _ALL)
def test_a_description_says_what_is_there(name: str) -> None:
    built_in = find(name)
    assert built_in.name == name
    assert callable(importlib.import_module(f"workloads.applications.built_in.{built_in.program}").main)
    assert built_in.ready.logged in (None, READY)
    assert built_in.drained.checkpoint == (built_in.checkpoint is not None)


@pytest.mark.parametrize("name", _KAFKAS_OWN)
def test_the_default_version_is_the_one_of_the_pom_and_of_streams_the_newest(name: str) -> None:
    built_in = find(name)
    assert isinstance(built_in.jars, MavenJars)
    default = built_in.options["version"].default
    pom = (compose.FOLDER / "applications" / built_in.jars.pom / "pom.xml").read_text()
    assert f"<kafka.version>{default}</kafka.version>" in pom
    assert (default == DEFAULT_VERSION) == (name == "kafka-streams")


@pytest.mark.parametrize("name", _KAFKAS_OWN)
def test_options_of_kafkas_own_applications(name: str, tmp_path: Path) -> None:
    told, _ = _parsed(name, tmp_path, **_KAFKAS_OWN[name])
    assert (told.commit_interval_ms, told.settings) == (500, {"a.b": "c=d"})
    if name != "connect-file-sink":
        assert told.guarantee.startswith("exactly")


def test_a_setting_may_hold_an_equals_sign_and_overrides_ours(tmp_path: Path) -> None:
    given = {**_COMMON, "settings": {"a.b": "c=d", "commit.interval.ms": 7}}
    told, _ = _parsed("kafka-streams", tmp_path, **given)
    made = kafka_streams.settings(told)
    assert (made["a.b"], made["commit.interval.ms"]) == ("c=d", "7")


def test_streams_raise_the_limit_only_if_they_are_told_to(tmp_path: Path) -> None:
    for given, expected in (({}, None), ({"raised_limit": 9}, 9)):
        assert _parsed("kafka-streams", tmp_path, **given)[0].raised_limit == expected


def test_options_of_a_consumer_that_fails_over(tmp_path: Path) -> None:
    given = {"offsets": "synced", "reads": [200, 0], "settings": {"a": "b"}}
    told, _ = _parsed("mirrormaker-failover", tmp_path, **given)
    assert (told.offsets, told.reads, told.settings) == ("synced", (200, 0), {"a": "b"})
    assert (told.bootstrap, told.output_bootstrap) == ("b:1", "c:1")


@pytest.mark.parametrize(
    ("name", "options", "sink"),
    [
        ("spark-kafka-sink", {}, ("native", None)),
        ("spark-dedup-sink", {}, ("dedup", None)),
        ("spark-table", {}, ("table", "file")),
        ("spark-table", {"sink": "append"}, ("table", "append")),
    ],
)
def test_options_of_spark(
    name: str, options: dict[str, Any], sink: tuple[str, str | None], tmp_path: Path
) -> None:
    plain, _ = _parsed(name, tmp_path, **options)
    assert (plain.variant, getattr(plain, "sink", None)) == sink
    assert (plain.failOnDataLoss, plain.maxOffsetsPerTrigger, plain.die) == (True, None, None)
    more = {"failOnDataLoss": False, "maxOffsetsPerTrigger": 10, "die": "between-write-and-commit"}
    full, _ = _parsed(name, tmp_path, **options, **more)
    assert (full.failOnDataLoss, full.maxOffsetsPerTrigger) == (False, 10)
    assert (full.die, full.die_in_batch) == ("between-write-and-commit", 1)


def test_options_of_flink_and_librdkafka(tmp_path: Path) -> None:
    flink, _ = _parsed("flink-kafka-sink", tmp_path, checkpoint_ms=50, producer={"linger.ms": 0})
    assert (flink.checkpoint_ms, flink.producer) == (50, {"linger.ms": "0"})
    assert (flink.guarantee, flink.die) == ("at-least-once", None)
    dying, _ = _parsed("flink-kafka-sink", tmp_path, die="between-checkpoints", die_after=7)
    assert (dying.die, dying.die_after) == ("between-checkpoints", 7)
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
    assert "`table: delta` is not offered: use parquet" in str(raised.value)


@pytest.mark.parametrize("name", _ALL)
def test_another_option_is_refused(name: str) -> None:
    for given in ({"dies": "soon"}, {"guarantees": "x"}):
        with pytest.raises(BadInput, match="does not take these options"):
            find(name).parsed(given)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kafka-streams", {"version": "4"}),
        ("kafka-streams", {"commit_interval_ms": 9}),
        ("kafka-streams", {"settings": {"a": [1]}}),
        ("flink-kafka-sink", {"connector": "3.1.0"}),
        ("librdkafka-copy", {"batch": "many"}),
        ("spark-kafka-sink", {"failOnDataLoss": "perhaps"}),
    ],
)
def test_a_wrong_value_is_refused_and_its_option_named(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="does not take these options") as refused:
        find(name).parsed(options)
    assert next(iter(options)) in str(refused.value.found)


def test_a_mistake_in_a_description_is_named_with_its_line() -> None:
    text = "name: a\nsummary: b\nprogram: c\noptions:\n  d: {type: number, help: e}\n"
    with pytest.raises(BadInput) as refused:
        BUILT_IN.parse(text, "a.yaml")
    assert "a.yaml, line 5" in str(refused.value)


def test_a_program_that_is_started_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[argparse.Namespace] = []
    monkeypatch.setattr(
        "workloads.applications.built_in.librdkafka_copy.main", lambda options: told.append(options) or 0
    )
    by_hand = ["librdkafka-copy", "--bootstrap", "b:1", "--input", "in", "--output", "out"]
    by_hand += ["--state", str(tmp_path)]
    assert program.main([*by_hand, "--options", '{"batch": 7}']) == 0
    assert (told[0].batch, told[0].guarantee, told[0].jars) == (7, "at-least-once", ())
    assert program.main([*by_hand, "--options", '{"batch": 0}']) == 2
    assert "batch" in capsys.readouterr().err
    assert program.main(["--schema"]) == 0
    assert "summary" in json.loads(capsys.readouterr().out)["properties"]


def _write(state: Path, folder: str, number: int, text: str) -> None:
    path = state / "checkpoint" / folder / str(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _offsets(**ends: int) -> str:
    partitions = {name.removeprefix("p"): end for name, end in ends.items()}
    return "v1\n{}\n" + json.dumps({"topic": partitions})


def test_the_checkpoint_of_spark_is_that_of_the_newest_committed_batch(tmp_path: Path) -> None:
    assert processed_offsets(tmp_path) == {}
    for number in range(11):
        _write(tmp_path, "offsets", number, _offsets(p0=10 * number, p1=number))
        _write(tmp_path, "commits", number, "v1\n{}")
    _write(tmp_path, "commits", 11, "v1\n{}")
    assert processed_offsets(tmp_path) == {0: 100, 1: 10}, "batch 11 has no offsets yet"
    _write(tmp_path, "offsets", 12, _offsets(p0=999, p1=999))
    assert processed_offsets(tmp_path) == {0: 100, 1: 10}, "batch 12 is not committed"
    _write(tmp_path, "offsets", 11, _offsets(p0=110, p1=11))
    assert processed_offsets(tmp_path) == {0: 110, 1: 11}


def test_flink_continues_from_the_newest_complete_checkpoint(tmp_path: Path) -> None:
    assert flink_copy.newest_checkpoint(tmp_path) is None
    for name in ("job/chk-1", "job/chk-2", "job/chk-10", "job/shared"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert flink_copy.newest_checkpoint(tmp_path) is None, "none is complete"
    for name in ("job/chk-1", "job/chk-2"):
        (tmp_path / "checkpoints" / name / "_metadata").touch()
    assert flink_copy.newest_checkpoint(tmp_path) == tmp_path / "checkpoints" / "job" / "chk-2"
