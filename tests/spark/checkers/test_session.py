"""Starting Spark: quiet, local, and clear about why it could not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.spark.session import spark_session
from tests.support.paths import ROOT

pytestmark = pytest.mark.spark


def _run(code: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


def test_a_session_says_nothing_on_the_terminal_and_can_be_started_again(tmp_path: Path) -> None:
    done = _run(
        "from pathlib import Path\n"
        "from checkers.spark.session import spark_session\n"
        f"spark = spark_session(master='local[1]', driver_memory='512m', scratch=Path({str(tmp_path)!r}))\n"
        "print(spark.range(3).count())\n"
        "spark.stop()\n"
        "print(spark_session(master='local[1]').range(4).count())\n"
    )
    assert (done.stdout, done.stderr, done.returncode) == ("3\n4\n", "", 0)


def test_a_jvm_that_does_not_start_is_explained() -> None:
    done = _run(
        "from checkers.spark.session import spark_session\n"
        "from harness.model.errors import CheckError\n"
        "try:\n"
        "    spark_session(master='local[1]', driver_memory='900000g')\n"
        "except CheckError as error:\n"
        "    print(error)\n"
    )
    assert done.stdout.startswith("Spark did not start")
    assert "heap" in done.stdout
    assert done.stderr == ""


def test_local_only_and_as_configured(spark: SparkSession) -> None:
    assert spark_session() is spark
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    assert spark.sparkContext.uiWebUrl is None
