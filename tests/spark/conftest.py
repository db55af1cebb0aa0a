"""One Spark session for the whole tier, and a check of a hand-built run in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.spark.session import spark_session
from harness.model.result import Summary
from tests.support.history import History, Row, findings_of, write_run

Check = Callable[..., tuple[Summary, list[Row]]]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = spark_session(
        master="local[2]", driver_memory="1g", scratch=tmp_path_factory.mktemp("spark-scratch")
    )
    yield session
    session.stop()


@pytest.fixture
def check(spark: SparkSession, tmp_path: Path) -> Check:
    """check(history, ..., meta=...) -> (summary, findings) of a run folder written for it."""

    def run(*histories: History, **options: Any) -> tuple[Summary, list[Row]]:
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        write_run(folder, *histories, **options)
        return check_run(spark, folder), findings_of(folder)

    return run
