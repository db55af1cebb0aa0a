"""What continuous integration runs (.ci/run): with folders of its own, and the part of the clock."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

HOUR, DAY = 3600, 24 * 3600
NEW = ("TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "MYPY_CACHE_DIR", "RUFF_CACHE_DIR")
MAKE = """#!/usr/bin/env python3
import json, os, pathlib, sys
with open({log!r}, "a") as log:
    log.write(json.dumps({{"arguments": sys.argv[1:], "environment": dict(os.environ)}}) + "\\n")
if sys.argv[1] != "setup":
    closed = pathlib.Path(os.environ["TMPDIR"], "closed")
    closed.mkdir(exist_ok=True)
    (closed / "file").touch()
    closed.chmod(0)
sys.exit(1 if sys.argv[1] == {fails!r} else 0)
"""


class Ci:
    """A checkout with `.ci/run`, in which `make` notes how it was called, and `date` says what it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temporary, self.log = folder, folder / "tmp", folder / "log"
        self.home = folder / "home"
        for one in (folder / ".ci", folder / "bin", self.temporary, self.home):
            one.mkdir()
        shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
        shutil.copy(ROOT / "Makefile", folder / "Makefile")

    def run(self, seconds: int = 0, fails: str = "") -> subprocess.CompletedProcess[str]:
        self.log.write_text("")
        self._program("make", MAKE.format(log=str(self.log), fails=fails))
        self._program("date", f'#!/bin/sh\n[ "$*" = +%s ] && echo {seconds}\n')
        alone = {name: value for name, value in os.environ.items() if name not in NEW}
        own = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.home)}
        return subprocess.run(
            [self.folder / ".ci" / "run"],
            env=alone | own | {"TMPDIR": str(self.temporary), "KAFKA_CHAOS_JARS": "/old"},
            capture_output=True,
            text=True,
            check=False,
        )

    def part(self, seconds: int) -> str:
        """The part of the long tests that is run at this time."""
        done = self.run(seconds)
        assert done.returncode == 0, done.stderr
        (shard,) = (one for one in self.calls()[-1][0] if one.startswith("SHARD="))
        part = shard.removeprefix("SHARD=")
        told = f"ci: part {part} of the long tests, chosen by the clock (hour {seconds // HOUR} since 1970)"
        assert told in done.stdout.splitlines()
        return part

    def calls(self) -> list[tuple[list[str], dict[str, str]]]:
        """Arguments and environment of every call of `make`."""
        rows = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [(row["arguments"], row["environment"]) for row in rows]

    def _program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)


@pytest.fixture
def ci(tmp_path: Path) -> Ci:
    return Ci(tmp_path)


def test_what_is_set_up_outlives_it_and_what_is_tested_has_new_folders(ci: Ci) -> None:
    assert ci.run().returncode == 0
    setup, test, shard = ci.calls()
    assert [setup[0], test[0], shard[0][:1]] == [["setup"], ["test"], ["test-shard"]]
    assert setup[1]["TMPDIR"] == str(ci.temporary), "an engine that it starts keeps this folder"
    for _, environment in (test, shard):
        (fresh,) = {Path(environment[name]).parent for name in NEW}
        assert fresh.parent == ci.temporary
        assert len(f"{fresh.name}/tmp") <= len("kc-XXXXXX/tmp"), "a socket's path is short"
        assert environment["HOME"] == str(ci.home), "which has settings of pip and Maven"
        assert "KAFKA_CHAOS_JARS" not in environment


@pytest.mark.parametrize("fails", ["", "test", "test-shard"])
def test_nothing_is_left_of_them_and_a_failure_stays_one(ci: Ci, fails: str) -> None:
    assert ci.run(fails=fails).returncode == bool(fails)
    called = ["setup", "test"] if fails == "test" else ["setup", "test", "test-shard"]
    assert [arguments[0] for arguments, _ in ci.calls()] == called
    assert list(ci.temporary.iterdir()) == []


def test_the_clock_chooses_every_part_within_as_many_hours_and_within_as_many_days(ci: Ci) -> None:
    now = 1_790_000_000
    every = {f"{part}/6" for part in range(1, 7)}
    for interval in (HOUR, DAY, 7 * DAY):  # a run at the same hour of every day or week has them all, too
        assert {ci.part(now + count * interval) for count in range(6)} == every


def test_the_commit_has_no_say(ci: Ci) -> None:
    assert "git" not in (ROOT / ".ci" / "run").read_text()
    assert ci.part(HOUR) == ci.part(2 * HOUR - 1)
