"""Clusters that lack something: one message that names it, and exit code 3."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from checkers import check_run, rates_of_runs
from harness.model.errors import CheckError, JournalError, KafkaChaosError
from tests.support.builders.every_finding import run_with_findings
from tests.support.group_history import GroupHistory
from tests.support.object_store import object_store, upload
from tests.support.paths import ROOT
from tests.support.standalone_spark import HOME, environment
from tests.support.wheel import built_wheel

pytestmark = pytest.mark.spark

DENIED = b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'


class Denying(BaseHTTPRequestHandler):
    """A store that gives nobody anything."""

    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(DENIED)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(DENIED)

    do_HEAD = do_PUT = do_POST = do_GET

    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture
def denying_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Denying)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
    }.items():
        monkeypatch.setenv(name, value)
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("denying_store")
def test_a_store_without_rights_is_told_before_spark_is_asked(tmp_path: Path) -> None:
    def asked() -> None:
        raise AssertionError("the session was asked for")

    with pytest.raises(JournalError, match="the run's metadata cannot be read") as caught:
        check_run(asked, "s3a://denied-bucket/run")  # type: ignore[arg-type]
    assert "ACCESS_DENIED" in str(caught.value.found)
    assert caught.value.next_step == "get rights or keys with which it can be read"
    with pytest.raises(CheckError, match="the folder for the results") as results:
        check_run(asked, run_with_findings(tmp_path / "run"), results="s3a://denied-bucket/results")  # type: ignore[arg-type]
    assert "ACCESS_DENIED" in str(results.value.found)


@pytest.mark.usefixtures("denying_store")
def test_rates_of_a_store_without_rights_name_the_rights() -> None:
    class Session:
        version = "4.2.1"

    with pytest.raises(KafkaChaosError, match="could not be added up") as caught:
        rates_of_runs(Session(), "s3a://denied-runs/runs", ["acks"])  # type: ignore[arg-type]
    assert "keys or a role" in str(caught.value.next_step)


def submitted(folder: str, tmp_path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The job by spark-submit, without anything of ours but the wheel."""
    archive = built_wheel(tmp_path).rename(tmp_path / "kafka-chaos.zip")
    return subprocess.run(
        [
            *(str(HOME / "bin" / "spark-submit"), "--master", "local[1]", "--py-files", str(archive)),
            *("--conf", "spark.driver.memory=1g", "--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
            *(str(ROOT / "checkers" / "job.py"), folder),
        ],
        capture_output=True,
        text=True,
        env=environment() | {"PYTHONPATH": ""} | more,
        timeout=900,
        check=False,
    )


def message(done: subprocess.CompletedProcess[str]) -> str:
    """Our message, which comes last."""
    assert done.returncode == 3, done.stdout[-2000:] + done.stderr[-3000:]
    assert done.stdout == ""
    return "kafka-chaos: " + done.stderr.partition("kafka-chaos: ")[2]


@pytest.mark.soak
def test_workers_without_pyarrow_are_told(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    history = GroupHistory().own("a", 0, 40).give("a", 1, 0, 49).commit("a", 50, 3).answer(20, 6)
    folder = history.write(tmp_path / "run")
    told = message(submitted(str(folder), tmp_path, PYSPARK_PYTHON=str(bare / "bin" / "python")))
    assert told.startswith("kafka-chaos: the check failed; the journals are untouched\n")
    assert "No module named 'pyarrow'" in told or "PACKAGE_NOT_INSTALLED" in told
    assert "install pyarrow, numpy, pydantic" in told
    assert len(told.splitlines()) == 4


@pytest.mark.soak
def test_a_store_without_jars_is_told(tmp_path: Path) -> None:
    local = run_with_findings(tmp_path / "run")
    with object_store() as variables:
        told = message(submitted(upload(local, "run", variables), tmp_path, **variables))
    assert "S3AFileSystem not found" in told
    assert "connector of this store" in told
    assert len(told.splitlines()) == 4
