"""`kafka-chaos compare-configs`: what it plans, refuses, prints and leaves, on paper, without brokers."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from tests.support import fake_backend
from tests.support.builders.config_comparisons import ACKS, written_files
from tests.support.builders.matrices import run_matrix
from tests.support.command_line import call
from tests.support.fake_backend import FakeBackend, judged

pytestmark = pytest.mark.pure

COMMAND = "compare-configs"
KILLED = ("--fault", "kill", "--seed", "4", "--clusters", "1", "-q")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two files that differ in acks, and no engine."""
    monkeypatch.setattr("harness.many.docker_backend.DockerBackend", lambda _: pytest.fail("it was started"))
    return [str(path) for path in written_files(tmp_path, ACKS)]


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str]) -> FakeBackend:
    """One that draws the results of runs."""
    del files
    fake = FakeBackend(tmp_path / "log")
    monkeypatch.setattr("harness.many.docker_backend.DockerBackend", lambda _: fake)
    return fake


def test_a_dry_run_says_in_what_the_files_differ_and_how_long_it_takes(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, COMMAND, *files, "--dry-run", "--repeat", "3") == 0
    told = capsys.readouterr().out
    assert "acks" in told
    assert "file=one.properties_fault=planned-move" in told
    assert "8 arms, at most 24 runs" in told
    assert call(monkeypatch, COMMAND, *files, "--dry-run", "--json", "--fault", "kill") == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["differences"]["acks"] == {"one.properties": "1", "all.properties": "all"}
    assert [arm["labels"]["fault"] for arm in planned["arms"]] == ["kill", "kill"]


def test_what_is_not_used_is_said(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.properties").write_text("acks=1\nmax.block.ms=5\n")
    assert call(monkeypatch, COMMAND, *files, "--dry-run") == 0
    assert "not used: one.properties: max.block.ms: librdkafka has no equivalent" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "a comparison needs two files at least"),
        (("one.properties",), "a comparison needs two files at least"),
        (("one.properties", "./one.properties"), "one file is named twice"),
        (("one.properties", "same.properties"), "these files do not differ in anything that matters"),
        (("one.properties", "misspelt.properties"), "did you mean 'linger.ms'?"),
        (("one.properties", "none.properties"), "the file cannot be read"),
        (("one.properties", "consumer.properties"), "this file has no setting of a producer"),
        (("one.properties", "all.properties", "--fault", "kil"), "did you mean 'kill'"),
        (("one.properties", "all.properties", "--profile", "slow"), "no timing profile"),
        (("one.properties", "all.properties", "--repeat", "90000"), "this would take about"),
        (("one.properties", "--resume", "folder"), "files, faults and the rate cannot change with --resume"),
        (("--fault", "kill", "--resume", "folder"), "files, faults and the rate cannot change with --resume"),
        (("--rate", "5", "--resume", "folder"), "files, faults and the rate cannot change with --resume"),
    ],
)
@pytest.mark.usefixtures("files")
def test_bad_input_is_one_message_before_anything_starts(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written_files(
        tmp_path,
        {
            "same.properties": "# ours; acks=1; client.id=other",
            "misspelt.properties": "acks=all; linger.mss=5",
            "consumer.properties": "group.id=g; auto.offset.reset=latest",
        },
    )
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, COMMAND, *arguments) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert told.err.count("kafka-chaos: ") == 1
    assert told.out == ""
    assert not (tmp_path / "results").exists()


def only_folder(results: Path) -> Path:
    (folder,) = (path for path in results.iterdir() if path.is_dir())
    return folder


def test_the_whole_command_on_paper(
    backend: FakeBackend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [str(tmp_path / name) for name in ACKS]
    results = tmp_path / "results"
    assert call(monkeypatch, COMMAND, *files, *KILLED, "--results", str(results)) == 0
    told = capsys.readouterr()
    folder = only_folder(results)
    assert len(backend.lines()) == 10
    saved = json.loads((folder / "configs.json").read_text())
    assert saved["headline"] in told.out
    assert [(cell["file"], len(cell["runs"])) for cell in saved["cells"]] == [
        ("one.properties", 5),
        ("all.properties", 5),
    ]
    assert f"compare-configs {files[0]} {files[1]} --fault kill" in saved["command"]
    assert "Settings compared" in (results / "index.html").read_text()
    suite = Xml.parse(folder / "matrix.junit.xml").getroot()
    assert len(suite.findall("testcase")) == 2
    assert call(monkeypatch, COMMAND, "--resume", str(folder), "--json", "-q") == 0
    again = json.loads(capsys.readouterr().out)
    assert again == saved
    assert len(backend.lines()) == 10, "no run was made again"
    assert call(monkeypatch, COMMAND, "--resume", str(folder), "--repeat", "6", "--json", "-q") == 0
    assert [len(cell["runs"]) for cell in json.loads(capsys.readouterr().out)["cells"]] == [6, 6]


@pytest.mark.usefixtures("backend")
def test_a_broken_promise_is_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fake_backend, "judged", lambda summary, **_: judged(summary, promised_loss=False))
    files = [str(tmp_path / name) for name in ACKS]
    paused = ("--fault", "pause", *KILLED[2:])
    assert call(monkeypatch, COMMAND, *files, *paused, "--results", str(tmp_path / "results")) == 1
    assert "one.properties lost records in 2 of 5 runs" in capsys.readouterr().out


def test_an_interruption_names_this_command_and_is_resumed(
    backend: FakeBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backend.interrupt_at = 3
    files = [str(tmp_path / name) for name in ACKS]
    results = tmp_path / "results"
    assert call(monkeypatch, COMMAND, *files, *KILLED, "--results", str(results)) == 130
    folder = only_folder(results)
    assert f"kafka-chaos compare-configs --resume {folder}" in capsys.readouterr().err
    assert call(monkeypatch, COMMAND, "--resume", str(folder), "-q") == 0
    assert len(backend.lines()) == 10
    assert (folder / "report.html").is_file()


def test_runs_that_break_name_this_command(
    backend: FakeBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backend.break_ = [f"file={name}_fault=kill" for name in ACKS] * 3
    files = [str(tmp_path / name) for name in ACKS]
    assert call(monkeypatch, COMMAND, *files, *KILLED, "--results", str(tmp_path / "results")) == 3
    assert "kafka-chaos compare-configs --resume" in capsys.readouterr().err


def test_a_plain_matrix_is_no_comparison_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store, _ = run_matrix(tmp_path, FakeBackend(tmp_path / "log"))
    assert call(monkeypatch, COMMAND, "--resume", str(store.folder), "-q") == 3
    assert "there is no comparison of files here" in capsys.readouterr().err
