"""A server of an engine that does not start: the reason and what to do, within seconds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from checkers.engine.choice import EngineChoice
from checkers.engine.server import start_engine
from checkers.engine.supervisor import cause_in
from harness.model.errors import CheckError
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

SPARK = EngineChoice("spark", "local[1]", "512m")


@pytest.mark.parametrize(
    ("script", "found", "next_step"),
    [
        ("exit 1", "it ended with exit code 1", "memory"),
        ("echo 'WARNING: incubator modules'; kill -9 $$", "it was killed by SIGKILL", "memory"),
        ("echo 'Invalid maximum heap size: -Xmxlots'; exit 1", "-Xmxlots", "--driver-memory"),
        (
            "echo 'ERROR Error starting'; echo 'java.net.BindException: Failed to bind to /127.0.0.1:15002'",
            "java.net.BindException: Failed to bind to /127.0.0.1:15002",
            "leave out the port",
        ),
    ],
)
def test_a_jvm_that_ends_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, found: str, next_step: str
) -> None:
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    version = '[ "$1" = -version ] && echo \'openjdk version "21.0.1"\' && exit'
    java.write_text(f"#!/bin/sh\n{version}\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    began = time.monotonic()
    with pytest.raises(CheckError, match="Spark did not start, so nothing was checked") as caught:
        start_engine(SPARK, scratch=tmp_path / "scratch")
    assert time.monotonic() - began < 180
    assert str(caught.value.found).endswith(found)
    assert next_step in str(caught.value.next_step)
    assert not (tmp_path / "scratch").exists()


def test_sail_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "pysail").mkdir()
    (tmp_path / "pysail" / "__init__.py").write_text('raise ImportError("no library of this machine")')
    with pytest.raises(CheckError, match="Sail did not start, so nothing was checked") as caught:
        start_engine(
            EngineChoice("sail"),
            scratch=tmp_path / "scratch",
            more_environment={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        )
    assert caught.value.found == "ImportError: no library of this machine"
    assert "--engine spark" in str(caught.value.next_step)
    assert not (tmp_path / "scratch").exists()


def test_a_log_without_a_failure_is_no_reason() -> None:
    assert cause_in("") == ""
    assert cause_in("WARNING: Using incubator modules\n") == ""
    assert cause_in("12:00:00 ERROR Server: down\n\tat a.b.C\n") == "12:00:00 ERROR Server: down"
