"""The nightly run without brokers: what it writes, and what it calls worse."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from harness.check_jobs.recheck import RESULT_FILE
from harness.cluster.containers import docker_engine
from harness.many.nightly import series
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import ClusterError, PrerequisiteMissing
from harness.model.result import ArmResult, ExperimentResult
from harness.report.ci import MOST_BYTES, SeriesOutcome, headline, junit_text, summary_text
from harness.run import executor
from harness.spec.experiment_files import EXPERIMENT, load
from tests.support.builders.experiments import START, StandIns, arm_result, install
from tests.support.command_line import call
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

HOSTILE = "a | b\n```\n<script>\x00\ud800 _x_ ](http://e) &"


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> StandIns:
    """Experiments come to what a test says; 3.9.2 cannot be started."""
    found = install(monkeypatch)

    def execute(chosen: Any, options: Any) -> Any:
        done = []
        for one in chosen:
            if one.cluster.version == "3.9.2":
                raise ClusterError("a node ended", found=HOSTILE)
            folder, result = found.run_on(None, one, options)  # type: ignore[arg-type]
            (folder / RESULT_FILE).write_text(result.model_dump_json())
            done.append((folder, result))
        return done

    monkeypatch.setattr(executor, "execute", execute)
    monkeypatch.setattr(docker_engine, "connect", lambda: SimpleNamespace(close=lambda: None))
    return found


def night(folder: Path, name: str, *arguments: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        return call(patch, "nightly", name, "--results", str(folder / "now"), "--seed", "3", *arguments)


def result_of(folder: Path, lost: int | None, arm: str = "acks=all", detail: str = "") -> ExperimentResult:
    experiment = load("kill-leader")
    (chosen,) = (one for one in experiment.arms if one.name == arm)
    folder.mkdir(parents=True)
    found = arm_result(experiment, chosen, folder, 3, lost)
    if detail:
        judged = found.judgement.model_copy(update={"reasons": (detail,)})
        found = ArmResult(folder=found.folder, meta=found.meta, summary=found.summary, judgement=judged)
    return ExperimentResult(
        experiment="kill-leader",
        title=detail or "t",
        description="",
        arms=(found,),
        started_ns=START,
        seconds=1.0,
        command="",
    )


def test_a_good_night_is_told_kept_and_held_against(
    tmp_path: Path, brokers: StandIns, capsys: pytest.CaptureFixture[str]
) -> None:
    last = str(tmp_path / "last")
    assert night(tmp_path, "cut-then-kill", "--last", last) == 0
    assert (tmp_path / "last" / DEFAULT_VERSION / "cut-then-kill" / RESULT_FILE).is_file()
    summary = (tmp_path / "now" / "summary.md").read_text()
    assert summary.startswith("# kafka-chaos: all 2 arms as promised\n")
    xml = Xml.parse(tmp_path / "now" / "junit.xml").getroot()
    assert [(suite.get("tests"), suite.get("failures")) for suite in xml] == [("2", "0")]
    assert brokers.runs[0][1].seed == 3
    assert "all 2 arms as promised" in capsys.readouterr().out


@pytest.mark.parametrize("engine", ["both", "spark", "sail"])
def test_both_engines_check_unless_one_is_named(
    engine: str, tmp_path: Path, brokers: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(series, "DockerBackend", lambda choice, *, both_engines: (choice, both_engines))
    monkeypatch.setattr(
        series.matrices, "run_matrices", lambda *_, backend, **__: asked.append(backend) or []
    )
    assert night(tmp_path, "cut-then-kill", *(() if engine == "both" else ("--engine", engine))) == 0
    run = brokers.runs[0][1]
    assert (run.engine.engine, run.both_engines) == ("auto" if engine == "both" else engine, engine == "both")
    assert asked == [(run.engine, run.both_engines)]


def test_a_worse_night_fails_and_is_not_the_new_measure(
    tmp_path: Path, brokers: StandIns, capsys: pytest.CaptureFixture[str]
) -> None:
    last = str(tmp_path / "last")
    assert night(tmp_path, "kill-leader", "--last", last) == 0
    # What a promise allows may come and go.
    brokers.losses = {"acks=1": 7}
    assert night(tmp_path / "lossy", "kill-leader") == 0
    brokers.losses = {"acks=all": 7}
    for number in range(2):
        assert night(tmp_path / str(number), "kill-leader", "--last", last) == 1
        assert "worse than the last time: kill-leader / acks=all on Kafka" in capsys.readouterr().out
    xml = Xml.parse(tmp_path / "0" / "now" / "junit.xml").getroot()
    failed = [suite.get("name") for suite in xml if suite.get("failures") != "0"]
    assert failed == [f"kill-leader on Kafka {DEFAULT_VERSION}", "against the last result"]


def test_what_cannot_be_run_keeps_nothing_else_from_running(tmp_path: Path, brokers: StandIns) -> None:
    versions = ("--kafka-version", "3.9.2", "--kafka-version", "4.3.1")
    assert night(tmp_path, "cut-then-kill", *versions) == 3
    assert len(brokers.runs) == 1
    xml = Xml.parse(tmp_path / "now" / "junit.xml").getroot()
    assert [(suite.get("errors"), suite.get("tests")) for suite in xml] == [("1", "1"), ("0", "2")]
    assert "1 could not be run (of 2 arms)" in (tmp_path / "now" / "summary.md").read_text()


def test_bad_input_is_refused_before_anything_starts(
    tmp_path: Path, brokers: StandIns, capsys: pytest.CaptureFixture[str]
) -> None:
    assert night(tmp_path, "kill-leadr") == 2
    assert "did you mean 'kill-leader'" in capsys.readouterr().err
    assert not brokers.runs


@pytest.mark.parametrize("more", [(), ("--matrix", "acks-idempotence")], ids=["experiments", "matrices"])
def test_without_an_engine_a_night_says_so_once(
    more: tuple[str, ...],
    tmp_path: Path,
    brokers: StandIns,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def connect() -> Any:
        raise PrerequisiteMissing("there is no Docker engine", next_step="start Docker")

    monkeypatch.setattr(docker_engine, "connect", connect)
    versions = ("--kafka-version", "4.4.0", "--kafka-version", "4.3.1")
    assert night(tmp_path, "kill-leader", "cut-then-kill", *versions, *more) == 3
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("there is no Docker engine") == 1
    assert not brokers.runs


@pytest.mark.usefixtures("brokers")
def test_a_night_on_an_existing_cluster_needs_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_engine, "connect", lambda: pytest.fail("the engine was asked"))
    chosen = EXPERIMENT.builtin("kill-leader")[0]
    written = chosen.model_dump(mode="json", by_alias=True, exclude_unset=True)
    written["cluster"] = {"existing": {"bootstrap_servers": "127.0.0.1:9092"}}
    (tmp_path / "ours.yaml").write_text(json.dumps(written))
    assert night(tmp_path, str(tmp_path / "ours.yaml")) == 0


def test_the_job_summary_gets_the_same(
    tmp_path: Path, brokers: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step"))
    brokers.losses = {"acks=all": 5}
    assert night(tmp_path, "kill-leader") == 1
    assert (tmp_path / "step").read_text() == (tmp_path / "now" / "summary.md").read_text()


@pytest.mark.parametrize(
    ("before", "now", "says"),
    [
        (0, 0, None),
        (0, 5, "was as promised, and is not now (invalid)"),
        (0, None, "was as promised, and is not now (unknown)"),
        (None, 5, "was unknown, is invalid"),
        (5, 0, None),
        (5, 9, None),
        (None, None, None),
    ],
)
def test_what_is_worse(before: int | None, now: int | None, says: str | None, tmp_path: Path) -> None:
    old = result_of(tmp_path / "old", before)
    (tmp_path / "old" / RESULT_FILE).write_text(old.model_dump_json())
    last, left_out = series.last_results(tmp_path / "old")
    outcome = SeriesOutcome("4.3.1", "kill-leader", tmp_path, result_of(tmp_path / "new", now))
    found = series.worse(last, [outcome])
    assert left_out == ()
    assert found == ([] if says is None else [f"kill-leader / acks=all on Kafka 4.3.1: {says}"])


def test_what_cannot_be_compared_is_left_out_and_said(tmp_path: Path) -> None:
    good = result_of(tmp_path / "good", 0)
    (tmp_path / "good" / RESULT_FILE).write_text(good.model_dump_json())
    for name, text in {
        "half": good.model_dump_json()[:100],
        "other": good.model_copy(update={"schema_version": 999}).model_dump_json(),
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / RESULT_FILE).write_text(text)
    last, left_out = series.last_results(tmp_path)
    assert list(last) == [("4.3.1", "kill-leader", "acks=all")]
    assert [Path(line.partition(":")[0]).parent.name for line in left_out] == ["half", "other"]
    assert series.last_results(tmp_path / "none") == ({}, ())


def test_hostile_words_break_neither_xml_nor_markdown(tmp_path: Path) -> None:
    outcomes = [
        SeriesOutcome("4.3.1", "kill-leader", tmp_path, result_of(tmp_path / "r", 3, detail=HOSTILE)),
        SeriesOutcome("4.3.1", HOSTILE, error=HOSTILE),
    ]
    xml = junit_text(outcomes, [HOSTILE])
    assert Xml.fromstring(xml.encode()).tag == "testsuites"
    text = summary_text(outcomes, [HOSTILE])
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "&lt;script&gt;" in outside
    assert not re.search(r"(?<!\\)<script", outside)
    assert not re.search(r"(?<!\\)`", outside)


def test_the_summary_never_exceeds_what_github_takes(tmp_path: Path) -> None:
    outcomes = [
        SeriesOutcome(
            f"4.{n}.0", "kill-leader", tmp_path, result_of(tmp_path / str(n), 3, detail="ü" * 40_000)
        )
        for n in range(20)
    ]
    text = summary_text(outcomes)
    assert len(text.encode()) <= MOST_BYTES
    assert text.startswith(f"# kafka-chaos: {headline(outcomes, ())}")
    assert "are left out" in text
    assert "left out" not in summary_text(outcomes[:1])


@pytest.mark.parametrize("series", [7, 0])
@pytest.mark.parametrize("histories", [0, 2])
def test_the_script_compares_histories_and_runs_the_module(
    tmp_path: Path, series: int, histories: int
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"$SEEN"\nexit {series}\n')
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"$SEEN.make"\nexit {histories}\n')
    for program in (python, make):
        program.chmod(0o755)
    seen = tmp_path / "seen"
    done = subprocess.run(
        [ROOT / "compose" / "nightly.sh", "--seed", "5"],
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHON": str(python),
            "SEEN": str(seen),
            "VERSIONS": "4.3.1 3.9.2",
        },
        check=False,
    )
    assert done.returncode == (series or histories)
    assert (tmp_path / "seen.make").read_text().split()[1:] == ["test-histories", "HISTORIES=500"]
    words = seen.read_text().split()
    assert words[:3] == ["-m", "kafka_chaos", "nightly"]
    assert words[-2:] == ["--seed", "5"]
    assert [words[n + 1] for n, word in enumerate(words) if word == "--kafka-version"] == ["4.3.1", "3.9.2"]
    assert set(words[3 : words.index("--kafka-version")]) <= set(EXPERIMENT.builtin_names())
