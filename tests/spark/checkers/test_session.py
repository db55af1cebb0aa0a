"""Servers of ours: quiet, on this machine only, ended with their command, and clear about why they did not
start."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from checkers.engine.choice import EngineChoice
from checkers.engine.connect import engine_name, name_of_unknown, open_session
from checkers.engine.failures import engine_failures
from checkers.engine.server import start_engine
from harness.model.errors import CheckError
from tests.support.paths import ROOT

pytestmark = pytest.mark.spark

SAIL = EngineChoice("sail")
SPARK = EngineChoice("spark", "local[1]", "512m")
ENGINES = {"sail": SAIL, "spark": SPARK}
# A JVM starts for a quarter of a minute of processor time.
EACH_ENGINE = ["sail", pytest.param("spark", marks=pytest.mark.soak)]

COMMAND = """
import time
from pathlib import Path
from checkers.engine.choice import EngineChoice
from checkers.engine.server import start_engine
engine = start_engine({choice}, scratch=Path({scratch!r}), more_environment={{"OF_THIS_TEST": {scratch!r}}})
print(engine.session().range(3).count(), flush=True)
{then}
"""


def _code(engine: str, scratch: Path, then: str) -> list[str]:
    code = COMMAND.format(choice=ENGINES[engine], scratch=str(scratch), then=then)
    return [sys.executable, "-c", code]


def _of_the_server(scratch: Path) -> list[int]:
    """Processes that carry the server's mark, as Linux tells them."""
    mark = f"OF_THIS_TEST={scratch}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def _await_end(scratch: Path) -> None:
    deadline = time.monotonic() + 180
    while _of_the_server(scratch) or scratch.exists():
        assert time.monotonic() < deadline, (_of_the_server(scratch), list(scratch.rglob("*")))
        time.sleep(0.05)


@pytest.mark.parametrize("engine", EACH_ENGINE)
def test_a_server_says_nothing_on_the_terminal_and_leaves_nothing(engine: str, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    done = subprocess.run(
        _code(engine, scratch, "engine.stop()"),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=600,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("3\n", "", 0)
    _await_end(scratch)


def _ask_now_and_then(session: SparkSession) -> None:
    """With pauses that are longer than a second, in which the session is idle."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(3)
        session.range(1).count()


def test_sail_keeps_an_idle_session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beyond its own 15 minutes. The control: the variable that says so ends one here after a second."""
    seconds = "SAIL_SPARK__SESSION_TIMEOUT_SECS"
    environments: list[dict[str, str]] = []
    popen = subprocess.Popen

    def noted(command: list[str], env: dict[str, str], **more: Any) -> Any:
        environments.append(env)
        return popen(command, env=env, **more)

    monkeypatch.setattr("checkers.engine.server.subprocess.Popen", noted)
    engine = start_engine(SAIL, scratch=tmp_path / "kept")
    engine.stop()
    assert int(environments[0][seconds]) > 24 * 3600
    engine = start_engine(SAIL, scratch=tmp_path / "ended", more_environment={seconds: "1"})
    try:
        session = engine.session()
        with pytest.raises(Exception, match="is not running"):
            _ask_now_and_then(session)
    finally:
        engine.stop()


IMPORTED = """
import os
session = engine.session()
print(session.range(9).count(), *sorted(set(told)))
engine.stop()
"""
WATCH = """
import importlib.abc, os, sys
told = []
class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "grpc":
            told.append(os.environ.get("GRPC_ENABLE_FORK_SUPPORT"))
sys.meta_path.insert(0, Watch())
"""


def test_grpc_is_imported_without_its_handlers_for_forks(tmp_path: Path) -> None:
    *start, code = _code("sail", tmp_path / "scratch", IMPORTED)
    done = subprocess.run(
        [*start, WATCH + code],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "GRPC_ENABLE_FORK_SUPPORT"}
        | {"PYTHONPATH": str(ROOT)},
        timeout=600,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("3\n9 false\n", "")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found as Linux tells them")
@pytest.mark.parametrize("engine", EACH_ENGINE)
@pytest.mark.parametrize("killed", ["the command", "the supervisor"])
def test_a_server_ends_when_its_command_is_killed(engine: str, killed: str, tmp_path: Path) -> None:
    """SIGKILL, which runs no code of the process. If the supervisor is killed, its folder stays for
    `kafka-chaos clean`."""
    scratch = tmp_path / "scratch"
    command = subprocess.Popen(
        _code(engine, scratch, "print(engine.server.supervisor.pid, flush=True); time.sleep(600)"),
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        assert command.stdout is not None
        assert command.stdout.readline() == "3\n"
        supervisor = int(command.stdout.readline())
        assert supervisor in _of_the_server(scratch)
        if killed == "the supervisor":
            os.kill(supervisor, signal.SIGKILL)
            deadline = time.monotonic() + 180
            # The command waits for no child, so the supervisor stays as a zombie, without an environment.
            while left := _of_the_server(scratch):
                assert time.monotonic() < deadline, left
                time.sleep(0.05)
            return
    finally:
        command.kill()
        command.wait()
    _await_end(scratch)


def test_a_jvm_that_does_not_start_is_explained(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="Spark did not start") as caught:
        start_engine(EngineChoice("spark", "local[1]", "900000g"), scratch=tmp_path / "scratch")
    assert "heap" in str(caught.value.found)
    assert caught.value.where == "master local[1], driver memory 900000g"
    assert not (tmp_path / "scratch").exists()


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        settings = {"spark.connect.grpc.binding.port": port, "spark.connect.grpc.port.maxRetries": "0"}
        choice = EngineChoice("spark", "local[1]", "512m", settings)
        with pytest.raises(CheckError, match="Spark did not start") as caught:
            start_engine(choice, scratch=tmp_path / "scratch")
    assert "bind" in str(caught.value.found).lower()
    assert "leave out the port" in str(caught.value.next_step)


def test_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(CheckError, match="no Spark Connect server answers") as caught:
        open_session(f"sc://127.0.0.1:{port}/;token=secret")
    assert time.monotonic() - began < 180
    assert "secret" not in str(caught.value)


def test_an_older_server_is_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sc://{spark.client.host}:{spark.client._builder._port}"  # type: ignore[attr-defined]
    if header := dict(spark.client._builder.metadata()).get("authorization"):  # type: ignore[attr-defined]
        url += f"/;authorization={header.replace(' ', '%20')}"
    monkeypatch.setattr("pyspark.__version__", "99.1.0")
    with pytest.raises(CheckError, match="older than the PySpark here") as caught:
        open_session(url)
    assert caught.value.expected == "Spark 99.1 or later"


def test_a_session_says_which_engine_it_is(spark: SparkSession) -> None:
    told = engine_name(spark)
    assert told.startswith(("Sail ", "Apache Spark "))
    # The same for a server of which nothing is known.
    assert name_of_unknown(spark).split(" (")[0] == told.split(" (")[0]


def test_a_session_is_in_utc_and_its_python_finds_our_code(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone").endswith("UTC")

    def count(rows: pa.Table) -> pa.Table:
        from checkers.judgement import judge

        return pa.table({"id": rows["id"][:1], "module": [judge.__name__]})

    done = spark.range(2).groupBy("id").applyInArrow(count, "id long, module string")
    assert {row.module for row in done.collect()} == {"checkers.judgement.judge"}


@pytest.mark.parametrize("engine", EACH_ENGINE)
def test_an_engine_that_dies_is_told_within_seconds(engine: str, tmp_path: Path) -> None:
    started = start_engine(ENGINES[engine], scratch=tmp_path / "scratch")
    session = started.session()
    assert session.range(5).agg(F.sum("id")).collect()[0][0] == 10
    assert started.server is not None
    started.server.stop()
    assert not started.alive()
    began = time.monotonic()
    with (
        pytest.raises(CheckError, match="the engine ended in the middle of the check") as caught,
        engine_failures("run"),
    ):
        session.range(5).collect()
    assert time.monotonic() - began < 180
    assert "Traceback" not in str(caught.value)
    assert str(caught.value.found).startswith("the server does not answer: ")
    session.client.close()


@pytest.mark.soak
def test_spark_is_local_only_and_as_configured(apache_spark: SparkSession) -> None:
    assert apache_spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert apache_spark.conf.get("spark.connect.grpc.binding.address") == "127.0.0.1"
    assert apache_spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert apache_spark.conf.get("spark.ui.enabled") == "false"
