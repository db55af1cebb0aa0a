"""The scripts of findings/: their form, their table, and what `make findings` says of them."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

FOLDER = ROOT / "findings"
SCRIPTS = sorted(FOLDER.glob("*.sh"))


@pytest.mark.parametrize("path", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_a_script_says_what_it_shows_and_leaves_nothing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    head = text.partition("set -euo pipefail")[0]
    assert re.search(r"\d{1,2} [A-Z][a-z]+ 20\d\d", head), "the date on which it was seen"
    assert "One would guess:" in head
    assert "What happens:" in head
    assert re.search(r"^# \| ", head, re.MULTILINE), "the output that was seen"
    assert "work=$(mktemp -d)" in text
    for trap in ("trap end EXIT", "trap 'exit 130' INT", "trap 'exit 143' TERM"):
        assert trap in text
    assert re.search(r"^\s*exit 2$", text, re.MULTILINE), "where its packages cannot be had"
    assert not re.search(r"kafka.chaos|(harness|checkers|workloads)[./]", text), "it stands by itself"
    assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0
    assert path.stat().st_mode & 0o111, "it can be called"


def test_the_table_has_every_script_and_no_other() -> None:
    rows = re.findall(r"^\| \[([^\]]+)\]\(([^)]+)\.sh\) \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert [name for name, file in rows if name == file] == [path.stem for path in SCRIPTS]
    assert len(SCRIPTS) >= 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `run` and scripts that end with the exit code of their name."""
    shutil.copy(FOLDER / "run", tmp_path / "run")
    for name, code in {"same": 0, "other": 1, "away": 2, "broken": 3}.items():
        path = tmp_path / f"{name}.sh"
        path.write_text(f"#!/bin/sh\necho output of {name}\nexit {code}\n")
        path.chmod(0o755)
    return tmp_path


def run(folder: Path, *names: str) -> tuple[int, str]:
    done = subprocess.run(
        [str(folder / "run"), *names], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("names", "code", "last"),
    [
        (("same",), 0, "1 as described, 0 changed or failed, 0 not reachable"),
        (("same", "other"), 1, "1 as described, 1 changed or failed, 0 not reachable"),
        (("away", "same"), 2, "1 as described, 0 changed or failed, 1 not reachable"),
        (("broken",), 1, "0 as described, 1 changed or failed, 0 not reachable"),
        ((), 1, "1 as described, 2 changed or failed, 1 not reachable"),
    ],
)
def test_what_changed_is_told_apart_from_what_is_not_reachable(
    folder: Path, names: tuple[str, ...], code: int, last: str
) -> None:
    found, output = run(folder, *names)
    assert (found, output.splitlines()[-1]) == (code, last)
    assert "output of same" not in output
    for name in set(names) - {"same"}:
        assert f"output of {name}" in output


def test_a_name_of_no_script_is_refused_before_any_runs(folder: Path) -> None:
    code, output = run(folder, "same", "none")
    assert code == 2
    assert output == (
        "findings: no such finding: none; expected the name of a script in findings/, without .sh\n"
    )


def test_a_run_that_is_ended_ends_its_script_too(folder: Path) -> None:
    noted = folder / "noted"
    script = folder / "long.sh"
    script.write_text(
        f"#!/usr/bin/env bash\nsleep 60 &\ntrap 'kill $!; echo ended >>{noted}; exit 143' TERM\n"
        f"echo begun >{noted}\nwait\n"
    )
    script.chmod(0o755)
    started = subprocess.Popen([str(folder / "run"), "long"], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not noted.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)
    assert started.wait(30) == 143
    assert noted.read_text() == "begun\nended\n"
