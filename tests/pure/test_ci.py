"""What continuous integration runs (.ci/run): with folders of its own, and the half chosen by the clock."""

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

    def run(self, seconds: int = 0, fails: str = "", elapsed: int = 0) -> subprocess.CompletedProcess[str]:
        """Run it `seconds` after 1970, as if it had begun `elapsed` seconds ago."""
        self.log.write_text("")
        self._program("make", MAKE.format(log=str(self.log), fails=fails))
        self._program("date", f'#!/bin/sh\n[ "$*" = +%s ] && echo {seconds}\n')
        alone = {name: value for name, value in os.environ.items() if name not in NEW}
        own = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.home)}
        return subprocess.run(
            [self.folder / ".ci" / "run"],
            env=alone
            | own
            | {"TMPDIR": str(self.temporary), "KAFKA_CHAOS_JARS": "/old", "SECONDS": str(elapsed)},
            capture_output=True,
            text=True,
            check=False,
        )

    def parts(self, seconds: int) -> list[str]:
        """The parts of the long tests that are run at this time, in order."""
        done = self.run(seconds)
        assert done.returncode == 0, done.stderr
        shards = [one for arguments, _ in self.calls() for one in arguments if one.startswith("SHARD=")]
        parts = [shard.removeprefix("SHARD=") for shard in shards]
        for part in parts:
            told = (
                f"ci: part {part} of the long tests, chosen by the clock (hour {seconds // HOUR} since 1970)"
            )
            assert told in done.stdout.splitlines()
        return parts

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
    setup, test, *shards = ci.calls()
    assert [setup[0], test[0], *(shard[0][:1] for shard in shards)] == [
        ["setup"],
        ["test"],
        *[["test-shard"]] * 4,
    ]
    assert setup[1]["TMPDIR"] == str(ci.temporary), "an engine that it starts keeps this folder"
    for _, environment in (test, *shards):
        (fresh,) = {Path(environment[name]).parent for name in NEW}
        assert fresh.parent == ci.temporary
        assert len(f"{fresh.name}/tmp") <= len("kc-XXXXXX/tmp"), "a socket's path is short"
        assert environment["HOME"] == str(ci.home), "which has settings of pip and Maven"
        assert "KAFKA_CHAOS_JARS" not in environment


@pytest.mark.parametrize("fails", ["", "test", "test-shard"])
def test_nothing_is_left_of_them_and_a_failure_stays_one(ci: Ci, fails: str) -> None:
    assert ci.run(fails=fails).returncode == bool(fails)
    called = {
        "": ["setup", "test", *["test-shard"] * 4],
        "test": ["setup", "test"],
        "test-shard": ["setup", "test", "test-shard"],
    }[fails]
    assert [arguments[0] for arguments, _ in ci.calls()] == called
    assert list(ci.temporary.iterdir()) == []


def test_the_clock_chooses_one_of_two_halves_and_every_part_comes_first_in_its_turn(ci: Ci) -> None:
    now = 1_790_000_000
    halves = {("1/8", "3/8", "5/8", "7/8"), ("2/8", "4/8", "6/8", "8/8")}
    for interval in (HOUR, DAY, 7 * DAY):  # a run at the same hour of every day or week has them all, too
        runs = [ci.parts(now + count * interval) for count in range(8)]
        assert {tuple(sorted(run)) for run in runs[:2]} == halves
        assert {run[0] for run in runs} == {f"{part}/8" for part in range(1, 9)}


@pytest.mark.parametrize(("elapsed", "begun"), [(4000, 4), (4600, 0)])
def test_no_part_is_begun_that_might_not_end_within_75_minutes(ci: Ci, elapsed: int, begun: int) -> None:
    done = ci.run(elapsed=elapsed)
    assert done.returncode == 0
    assert len(ci.calls()) == 2 + begun
    assert done.stdout.count("ci: no time is left for part") == 4 - begun


def test_the_commit_has_no_say(ci: Ci) -> None:
    assert "git" not in (ROOT / ".ci" / "run").read_text()
    assert ci.parts(HOUR) == ci.parts(2 * HOUR - 1)
