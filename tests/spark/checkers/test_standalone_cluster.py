"""The same check on a standalone cluster, through a Connect server of ours, through spark-submit and over a
Connect server of somebody else's: the same summary."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from tests.support.builders.every_finding import run_with_findings, without_engine
from tests.support.history import findings_of
from tests.support.paths import ROOT
from tests.support.standalone_spark import HOME, cluster, connect_server, environment
from tests.support.wheel import built_wheel

pytestmark = [pytest.mark.spark, pytest.mark.soak]


@pytest.fixture
def here(spark: SparkSession, tmp_path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Summary and findings of the same run by the engine of the tests."""
    folder = run_with_findings(tmp_path / "here")
    summary = check_run(spark, folder)
    assert len(summary.findings) >= 4
    return without_engine(json.loads(summary.model_dump_json())), findings_of(folder)


def finish(command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=environment() | {"PYTHONPATH": str(ROOT)} | more,
        timeout=900,
        check=False,
    )


def test_a_standalone_cluster_with_two_workers(spark: SparkSession, here: Any, tmp_path: Path) -> None:
    folder, results = run_with_findings(tmp_path / "run"), tmp_path / "results"
    check_run(spark, run_with_findings(tmp_path / "runs" / "checked"))
    with cluster(tmp_path) as master:
        there = [
            *("--spark-master", master, "--driver-memory", "512m", "--results", str(results)),
            *("--spark-conf", "spark.executor.memory=512m"),
            *("--spark-conf", "spark.sql.shuffle.partitions=2"),
        ]
        ours = [sys.executable, "-m", "kafka_chaos"]
        done = finish([*ours, "check", str(folder), "--json", "--quiet", *there])
        rates = finish([*ours, "rates", str(tmp_path / "runs"), "--json", "--quiet", *there])
        # The work was done there: every executor that ran says so in its worker's log.
        started = sum(
            (tmp_path / f"worker-{number}.log").read_text().count("Asked to launch executor")
            for number in range(2)
        )
    assert done.returncode == 1, done.stderr  # findings that no arm promises
    assert started == 4, done.stderr  # two for each command
    assert rates.returncode == 0, rates.stderr
    (row,) = json.loads(rates.stdout)["rows"]
    assert (row["runs"], row["lost"]) == (1, here[0]["findings"]["lost"])
    assert (results / "rates.html").exists()
    answer = json.loads(done.stdout)["arms"][0]
    assert answer["summary"] is not None, answer["meta"]["problems"]
    assert without_engine(answer["summary"]) == here[0]
    assert findings_of(results / "run") == here[1]
    assert not (folder / "findings").exists()


def test_spark_submit_with_our_wheel_as_a_zip(here: Any, tmp_path: Path) -> None:
    folder, results = run_with_findings(tmp_path / "run"), tmp_path / "results"
    # Spark puts a `.whl` on the path of the driver alone.
    archive = built_wheel(tmp_path).rename(tmp_path / "kafka-chaos.zip")
    with cluster(tmp_path) as master:
        done = finish(
            [
                *(str(HOME / "bin" / "spark-submit"), "--master", master, "--py-files", str(archive)),
                *("--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=512m"),
                *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
                *("--conf", "spark.sql.session.timeZone=UTC", "--conf", "spark.ui.enabled=false"),
                *("--conf", "spark.sql.shuffle.partitions=2"),
                *(str(ROOT / "checkers" / "job.py"), str(folder), "--results", str(results)),
            ],
            PYTHONPATH="",  # nothing but the wheel
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert without_engine(json.loads(done.stdout)) == here[0]
    assert json.loads((results / "summary.json").read_text())["findings"] == here[0]["findings"]
    assert findings_of(results) == here[1]


def test_spark_connect(here: Any, tmp_path: Path) -> None:
    folder, results = run_with_findings(tmp_path / "run"), tmp_path / "results"
    with connect_server(tmp_path) as server:
        done = finish(
            [
                *(sys.executable, "-m", "kafka_chaos", "check", str(folder), "--json", "--quiet"),
                *("--spark-master", server, "--results", str(results)),
                *("--spark-conf", "spark.sql.shuffle.partitions=2"),
            ]
        )
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)["arms"][0]
    assert answer["summary"] is not None, answer["meta"]["problems"]
    assert without_engine(answer["summary"]) == here[0]
    assert findings_of(results / "run") == here[1]


def test_a_master_that_does_not_answer_is_told(tmp_path: Path) -> None:
    folder = run_with_findings(tmp_path / "run")
    done = finish(
        [
            *(sys.executable, "-m", "kafka_chaos", "check", str(folder), "--quiet"),
            *("--spark-master", "spark://127.0.0.1:1", "--driver-memory", "512m"),
        ]
    )
    assert done.returncode == 3
    assert done.stderr.startswith("kafka-chaos: Spark did not start")
    assert "that the master answers" in done.stderr
    assert "Traceback" not in done.stderr
