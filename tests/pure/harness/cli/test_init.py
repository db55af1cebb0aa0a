"""`kafka-chaos init --ci`: what it writes, what it refuses, and which repository it puts into the files."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli import init
from harness.cli.init import EXPERIMENT_FILE, TEST_FILE, WRITTEN, installed_from, with_source
from harness.spec.experiment_files import load
from tests.support.ci_jobs import SYSTEMS, text_of
from tests.support.command_line import call

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(init, "installed_from", lambda: None)
    return tmp_path


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_ci_file_an_experiment_and_a_test_are_written(
    system: init.CiSystem, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "init", "--ci", system) == 0
    target = WRITTEN[system][1]
    assert files_in(folder) == {target, EXPERIMENT_FILE, TEST_FILE}
    assert (folder / target).read_text() == text_of(system)
    assert bool((folder / target).stat().st_mode & 0o100) is (system == "cron")
    printed = capsys.readouterr().out
    assert f"wrote {target}, {EXPERIMENT_FILE}, {TEST_FILE}" in printed
    assert "in place of OWNER and TAG" in printed or "in place of HOST, OWNER and TAG" in printed


def test_the_first_test_is_about_an_arm_of_the_first_experiment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(monkeypatch, "init", "--ci", "cron")
    experiment = load(EXPERIMENT_FILE)
    text = (folder / TEST_FILE).read_text()
    assert f'chaos("{Path(EXPERIMENT_FILE).name}", arms=["{experiment.arms[0].name}"])' in text
    assert Path(EXPERIMENT_FILE).parent == Path(TEST_FILE).parent, "a test finds the file beside it"
    compile(text, TEST_FILE, "exec")


@pytest.mark.parametrize("there", [".gitlab-ci.yml", EXPERIMENT_FILE, TEST_FILE])
@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_nothing_is_written_if_a_file_exists(
    there: str,
    kind: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / there).parent.mkdir(exist_ok=True)
    if kind == "file":
        (folder / there).write_text("ours")
    else:
        (folder / there).symlink_to(folder / "elsewhere")
    assert call(monkeypatch, "init", "--ci", "gitlab") == 2
    assert files_in(folder) == ({there} if kind == "file" else set())
    message = capsys.readouterr().err
    assert "nothing is written, since a file exists already" in message
    assert f"where:    {there}\n" in message


def test_a_folder_that_cannot_be_written_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "chaos").write_text("a file")
    assert call(monkeypatch, "init", "--ci", "jenkins") == 2
    message = capsys.readouterr().err
    assert f"where:    {EXPERIMENT_FILE}" in message


def test_an_unknown_system_is_refused_with_those_that_are_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert call(monkeypatch, "init", "--ci", "circle") == 2
    message = capsys.readouterr().err
    assert all(f"'{system}'" in message for system in SYSTEMS)
    assert files_in(folder) == set()


def test_a_file_of_another_name_is_refused_with_ci(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "init", "mine.yaml", "--ci", "cron") == 2
    assert "--ci with the file mine.yaml" in capsys.readouterr().err
    assert files_in(folder) == set()


def test_without_ci_an_experiment_alone_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "init") == 0
    assert files_in(folder) == {"experiment.yaml"}


GITHUB = ("https://github.com/ours/chaos.git", "v1")
ELSEWHERE = ("ssh://git@git.example.org/ours/kafka-chaos", "0ab1")


@pytest.mark.parametrize(
    ("system", "source", "has", "lacks"),
    [
        ("github", GITHUB, "uses: ours/chaos/.github/workflows/chaos.yml@v1\n", "TAG\n"),
        ("github", ELSEWHERE, "uses: OWNER/kafka-chaos/.github/workflows/chaos.yml@TAG\n", "0ab1"),
        ("gitlab", GITHUB, "kafka-chaos[java] @ git+https://github.com/ours/chaos.git@v1\n", "@TAG"),
        ("jenkins", ELSEWHERE, "git+ssh://git@git.example.org/ours/kafka-chaos@0ab1'\n", "@TAG"),
        ("cron", None, "git+https://HOST/OWNER/kafka-chaos@TAG}\n", "example"),
    ],
)
def test_the_repository_that_pip_has_installed_from_is_put_in(
    system: init.CiSystem, source: tuple[str, str] | None, has: str, lacks: str
) -> None:
    text = with_source(text_of(system), source)
    assert has in text
    assert lacks not in text


def test_a_file_without_anything_to_fill_in_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(init, "installed_from", lambda: GITHUB)
    assert call(monkeypatch, "init", "--ci", "github") == 0
    assert "in place of" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("told", "source"),
    [
        (
            {"url": GITHUB[0], "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "c"}},
            GITHUB,
        ),
        ({"url": GITHUB[0], "vcs_info": {"vcs": "git", "commit_id": "v1"}}, GITHUB),
        ({"url": "file:///src", "vcs_info": {"vcs": "git", "commit_id": "c"}}, None),
        ({"url": "file:///src", "dir_info": {"editable": True}}, None),
        ({"url": "https://host/a.whl", "archive_info": {}}, None),
        (None, None),
    ],
)
def test_where_it_was_installed_from_is_what_pip_has_noted(
    told: dict[str, Any] | None, source: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = SimpleNamespace(read_text=lambda _: None if told is None else json.dumps(told))
    monkeypatch.setattr(init, "distribution", lambda _: noted)
    assert installed_from() == source
