"""One session for the whole tier, and a check of a hand-built run in one call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.engine.choice import EngineChoice
from checkers.engine.server import start_engine
from harness.model.result import Summary
from tests.support.history import Check, History, Row, findings_of, write_run

ENGINE_VARIABLE = "KAFKA_CHAOS_TEST_ENGINE"
"""Environment variable: "spark" runs the tier on Apache Spark, anything else on Sail."""

SAIL = EngineChoice("sail")
SPARK = EngineChoice("spark", master="local[2]", driver_memory="1g")


def _session(choice: EngineChoice, scratch: Path) -> Iterator[SparkSession]:
    engine = start_engine(choice, scratch=scratch)
    yield engine.session()
    engine.stop()


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on Sail, or on Apache Spark where `KAFKA_CHAOS_TEST_ENGINE` says so."""
    if os.environ.get(ENGINE_VARIABLE) == "spark":
        yield request.getfixturevalue("apache_spark")
    else:
        yield from _session(SAIL, tmp_path_factory.mktemp("sail-scratch"))


@pytest.fixture(scope="session")
def apache_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on Apache Spark, for tests of what only Spark has."""
    yield from _session(SPARK, tmp_path_factory.mktemp("spark-scratch"))


@pytest.fixture
def check(spark: SparkSession, tmp_path: Path) -> Check:
    """check(history, ..., meta=...) -> (summary, findings) of a run folder written for it."""

    def run(*histories: History, **options: Any) -> tuple[Summary, list[Row]]:
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        write_run(folder, *histories, **options)
        return check_run(spark, folder), findings_of(folder)

    return run
