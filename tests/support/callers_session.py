"""Sessions of Spark as a user brings them to a check: made without us, with settings that are not ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.standalone_spark import HOME, connect_server

OTHER_SETTINGS = {
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.sources.default": "orc",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
}
"""Settings that a check on an engine of ours never meets."""

_QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
}
"""What saves most of a test's time: its histories are small."""


@contextmanager
def classic_session(scratch: Path, *, ansi: bool) -> Iterator[SparkSession]:
    """Spark in this process, with OTHER_SETTINGS."""
    builder = SparkSession.builder.master("local[2]").appName("caller")
    for name, value in {
        **OTHER_SETTINGS,
        **_QUICK,
        "spark.sql.ansi.enabled": str(ansi).lower(),
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def connect_session(scratch: Path, *, ansi: bool) -> Iterator[SparkSession]:
    """A session on a Spark Connect server of this PySpark's version, with OTHER_SETTINGS."""
    quick = [word for name, value in _QUICK.items() for word in ("--conf", f"{name}={value}")]
    if not list((HOME / "jars").glob("spark-connect_*.jar")):
        quick += ["--jars", os.environ["KAFKA_CHAOS_CONNECT_JAR"]]
    with connect_server(scratch, *quick) as url:
        session = SparkSession.builder.remote(url).getOrCreate()
        for name, value in {**OTHER_SETTINGS, "spark.sql.ansi.enabled": str(ansi).lower()}.items():
            session.conf.set(name, value)
        try:
            yield session
        finally:
            session.stop()
