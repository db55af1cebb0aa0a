"""Settings of Apache Spark for each kind of master. Pure: nothing here starts Spark."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from checkers.engine.choice import EngineChoice
from checkers.engine.connect import NO_CALL_SITES
from harness.model.storage import s3_settings

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.connect.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.connect.level = info
"""
"""Errors, and the one line in which the Spark Connect server says at which port it listens."""

_ON_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def server_settings(choice: EngineChoice, scratch: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Settings of a Spark Connect server of ours, whose files are below `scratch`. The user's come last."""
    ours = {
        "spark.master": choice.master,
        "spark.app.name": "kafka-chaos",
        "spark.driver.memory": choice.driver_memory,
        # Port 0 is any free one, so no other program can have taken it.
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        **NO_CALL_SITES,
        # A folder of findings holds data alone: no _SUCCESS.
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # The plans of one check generate more classes than the 100 that Spark keeps.
        "spark.sql.codegen.cache.maxEntries": "1000",
        # Journals are local files: listing thousands of parts is faster than starting a job to list them.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    }
    if choice.is_local:
        ours |= _ON_LOOPBACK
        # Fewer tasks than Spark's 200, which would spend their time on being started.
        ours["spark.sql.shuffle.partitions"] = str(cores(choice.master))
    else:
        ours |= cluster_settings(choice, environment)
    ours |= hadoop_s3_settings(environment)
    brings_jars = bool(choice.jars) or any(name.startswith("spark.jars") for name in choice.settings)
    if choice.is_local and not brings_jars:
        # Nor a .crc file beside each part. Hadoop's client for S3, which comes as a jar, buffers in local
        # files and insists on the class that writes them.
        ours["spark.hadoop.fs.file.impl"] = "org.apache.hadoop.fs.RawLocalFileSystem"
    if choice.jars:
        ours["spark.jars"] = ",".join(str(path) for path in choice.jars)
    return {**ours, **choice.settings}


def cores(master: str) -> int:
    """The cores of a local master."""
    match = re.fullmatch(r"local\[(\d+)(?:,.*)?\]", master)
    return int(match[1]) if match else 1 if master == "local" else os.cpu_count() or 1


def cluster_settings(choice: EngineChoice, environment: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session whose executors are other processes."""
    # Executors' Python workers read the journals too, with the environment of their executor.
    names = [name for name in environment if name.startswith("AWS_")]
    settings = {f"spark.executorEnv.{name}": environment[name] for name in names}
    # Spark's default pattern does not match the names of these variables; values that match are not logged.
    settings["spark.redaction.regex"] = r"(?i)secret|password|token|access[._]?key"
    return settings | (_ON_LOOPBACK if choice.on_this_machine else {})


def hadoop_s3_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's S3 settings from the environment; Spark itself takes the keys from there."""
    given = s3_settings(environment)
    settings = {}
    if endpoint := given.get("endpoint_override"):
        settings["spark.hadoop.fs.s3a.endpoint"] = endpoint
        # Only Amazon's own service has bucket names in the host name.
        settings["spark.hadoop.fs.s3a.path.style.access"] = "true"
        settings["spark.hadoop.fs.s3a.connection.ssl.enabled"] = str(endpoint.startswith("https")).lower()
    if region := given.get("region"):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    return settings


def python_executable(choice: EngineChoice, environment: Mapping[str, str]) -> str:
    """The interpreter of Python workers: ours where they run on this machine."""
    return sys.executable if choice.on_this_machine else environment.get("PYSPARK_PYTHON", "python3")
