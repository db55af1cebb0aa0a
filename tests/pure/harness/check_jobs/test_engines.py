"""One engine for a command: started once, found by its processes, started anew after it has ended."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.engine.choice import EngineChoice
from checkers.engine.server import SCRATCH_PREFIX, ConnectEngine
from harness.check_jobs import engines
from harness.model.errors import CheckError, PrerequisiteMissing
from harness.model.host.processes import owner_label
from harness.model.storage import storage_path

pytestmark = pytest.mark.pure

SAIL = EngineChoice("sail")


class Servers:
    """Stands in for servers: counts starts, and can fail."""

    def __init__(self) -> None:
        self.started: list[ConnectEngine] = []
        self.ended: list[str] = []
        self.running: set[str] = set()
        self.error: Exception | None = None

    def start(self, choice: EngineChoice, **_: Any) -> ConnectEngine:
        if self.error is not None:
            raise self.error
        url = f"sc://127.0.0.1:{1000 + len(self.started)}"
        self.running.add(url)
        engine = ConnectEngine(url, f"{choice.engine} in a test")
        engine.stop = lambda: self.ended.append(url)
        engine.alive = lambda: url in self.running
        self.started.append(engine)
        return engine


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Servers]:
    found = Servers()
    monkeypatch.setattr(engines, "start_engine", found.start)
    monkeypatch.setattr(engines, "_engines", {})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(engines.ENGINE_SERVER_VARIABLE, raising=False)
    yield found
    engines.stop_engines()


def test_one_server_for_equal_choices(servers: Servers) -> None:
    assert engines.engine(SAIL) is engines.engine(EngineChoice("sail"))
    other = engines.engine(EngineChoice("spark", "sc://elsewhere:1"))
    assert len(servers.started) == 2
    engines.stop_engines()
    assert servers.ended == [servers.started[0].url, other.url]
    assert engines.ENGINE_SERVER_VARIABLE not in os.environ


def test_a_server_that_ended_is_started_anew(servers: Servers) -> None:
    first = engines.engine(SAIL)
    servers.running.clear()
    assert engines.engine(SAIL) is not first
    assert servers.ended == [first.url]


def test_a_server_that_does_not_start_is_told_each_time(servers: Servers) -> None:
    servers.error = CheckError("Spark did not start")
    for _ in range(2):
        with pytest.raises(CheckError, match="did not start"):
            engines.engine(SAIL)
    servers.error = None
    assert engines.engine(SAIL).url == servers.started[0].url


def test_an_early_start_is_used_and_its_failure_is_told_later(servers: Servers) -> None:
    engines.start_early(engines.Decision(SAIL))
    assert engines.engine(SAIL) is servers.started[0]
    assert len(servers.started) == 1
    servers.error = CheckError("no memory")
    spark = EngineChoice("spark")
    engines.start_early(engines.Decision(spark))
    with pytest.raises(CheckError, match="no memory"):
        engines.engine(spark)


def test_an_early_start_waits_for_the_brokers(servers: Servers) -> None:
    engines.start_early(engines.Decision(SAIL))
    (starting,) = engines._engines.values()
    with pytest.raises(TimeoutError):
        starting.result(timeout=0.2)
    assert servers.started == []
    engines.brokers_are_up()
    assert starting.result(timeout=5) is servers.started[0]


def test_an_early_start_does_not_wait_for_ever(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "HEAD_START_SECONDS", 0.01)
    engines.start_early(engines.Decision(SAIL))
    (starting,) = engines._engines.values()
    assert starting.result(timeout=5) is servers.started[0]


def test_a_process_of_the_command_uses_its_server_as_long_as_it_listens(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"sc://127.0.0.1:{listening.getsockname()[1]}/;authorization=x"
        monkeypatch.setenv(engines.ENGINE_SERVER_VARIABLE, json.dumps({engines.server_key(SAIL): url}))
        assert engines.engine(SAIL).url == url
        assert servers.started == []
    engines._engines.clear()
    assert engines.engine(SAIL) is servers.started[0]


def test_a_server_that_was_started_for_another_object_store_is_not_used(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"sc://127.0.0.1:{listening.getsockname()[1]}/;authorization=x"
        monkeypatch.setenv(engines.ENGINE_SERVER_VARIABLE, json.dumps({engines.server_key(SAIL): url}))
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-told")
        assert engines.engine(SAIL) is servers.started[0]
        assert "not-told" not in os.environ[engines.ENGINE_SERVER_VARIABLE]


def test_only_spark_here_needs_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java(_: object) -> None:
        raise PrerequisiteMissing("Java was not found")

    monkeypatch.setattr(engines, "java_of_spark", no_java)
    monkeypatch.setattr(engines, "available_memory", lambda: None)
    monkeypatch.delenv("KAFKA_CHAOS_ENGINE", raising=False)
    for choice in (EngineChoice(), EngineChoice("spark"), EngineChoice(master="spark://a:1")):
        with pytest.raises(PrerequisiteMissing):
            engines.require_engine(choice)
    assert engines.require_engine(SAIL).engine == "sail"
    assert engines.require_engine(EngineChoice(master="sc://a:1")).engine == "spark"
    assert engines.require_engine(EngineChoice(), "sail").engine == "sail"


def test_rows_are_counted_from_footers_and_a_damaged_file_counts_none(tmp_path: Path) -> None:
    run = tmp_path / "experiment" / "run"
    for name, rows in (("sends/a", 3), ("sends/b", 4), ("reads/a", 5)):
        path = run / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True, parents=True)
        pq.write_table(pa.table({"x": range(rows)}), path)
    (run / "reads" / "torn.parquet").write_bytes(b"PAR1")
    (run / "run.json").touch()
    assert engines.rows_in(run) == 12
    (run.parent / "other").mkdir()
    (run.parent / "other" / "run.json").touch()
    assert engines.rows_in(run.parent) == 12, "of an experiment's folder the largest run counts"
    assert engines.rows_in(tmp_path / "nowhere") == 0
    assert engines.rows_in(storage_path("s3://bucket/run")) is None


def test_one_server_checks_all_arms_of_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "rows_in", lambda _: 7)
    monkeypatch.setattr(engines, "java_of_spark", lambda _: None)
    small, large = EngineChoice("spark"), EngineChoice("spark", optimised=True)
    assert engines.decide_for(small, tmp_path).choice == small
    assert engines.decide_for(large, tmp_path).choice == large, "decided on for the largest arm"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found as Linux tells them")
def test_what_is_left_of_a_command_that_ended_is_swept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.run(
        [sys.executable, "-c", "import os\nfrom harness.model.host.processes import owner_label\n"
         "print(owner_label(os.getpid()), end='')"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    ours = owner_label(os.getpid())
    folders = {}
    for owner in (gone, ours):
        folders[owner] = tmp_path / f"{SCRATCH_PREFIX}{len(folders)}"
        folders[owner].mkdir()
        (folders[owner] / "owner").write_text(owner)
    sleeping = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    left, used = (
        subprocess.Popen(sleeping, env=os.environ | {engines.MARK: owner}, stdout=subprocess.PIPE)
        for owner in (gone, ours)
    )
    try:
        for process in (left, used):
            assert process.stdout is not None
            process.stdout.readline()
        assert engines.sweep_engines() == 1
        assert left.wait(60) != 0
        assert used.poll() is None
        assert (folders[gone].exists(), folders[ours].exists()) == (False, True)
    finally:
        for process in (left, used):
            process.kill()
            process.wait()
