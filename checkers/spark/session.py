"""The Spark session of the checks: quiet, and bound to this machine only unless a cluster is asked for."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from checkers.spark.executor_archive import write_zip
from checkers.spark.java import java_of_spark
from checkers.spark.master import SparkPlace, cluster_settings, hadoop_s3_settings, python_executable
from harness.model.errors import CheckError

_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def spark_session(
    *,
    master: str = "local[*]",
    driver_memory: str = "4g",
    scratch: Path | None = None,
    settings: Mapping[str, str] | None = None,
    jars: tuple[Path, ...] = (),
) -> SparkSession:
    """A Spark session for the checks; the one that already runs in this process, if there is one.

    Spark has no web UI and writes nothing to the terminal: the output of its JVM goes to `spark.log` below
    `scratch` (default: a temporary directory, removed when the process ends). It listens on 127.0.0.1 only,
    except for masters on other machines, whose executors must reach it and get our code.

    Args:
        master: `local[n]`, `spark://host:port`, `yarn`, `k8s://...`, or `sc://host:port` (Spark Connect).
        driver_memory: heap of the JVM, as Spark writes sizes ("4g").
        scratch: directory for Spark's spills and its log.
        settings: Spark's own, which override ours.
        jars: added to the class path of driver and executors.

    Raises:
        BadInput: the master is of no kind that is supported.
        PrerequisiteMissing: no Java, or one older than 17; for Spark Connect, no gRPC.
        CheckError: Spark did not start, or the cluster does not answer.
    """
    place = SparkPlace(master, driver_memory, settings or {}, jars).checked()
    if place.is_connect:
        from checkers.spark.connect import connect_session

        return connect_session(place)
    # Not getActiveSession(), which knows only sessions of the current thread.
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    java_of_spark(os.environ)
    if scratch is None:
        scratch = Path(tempfile.mkdtemp(prefix="kafka-chaos-spark-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    scratch = scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    # Workers must run this interpreter, the JVM must be the one of this very pyspark, and the host name
    # (which may not resolve in a sandbox) must not matter.
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYSPARK_PYTHON"] = python_executable(place, os.environ)
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    if place.on_this_machine:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Tasks import what stands beside this package, wherever this process was started.
    ours = str(Path(__file__).parents[2])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if ours not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([ours, *paths])
    log = scratch / "spark.log"
    try:
        with log.open("ab") as stream:
            session = _start(_configuration(place, scratch), stream)
            if not place.is_local:
                session.sparkContext.addPyFile(str(write_zip(scratch / "kafka-chaos.zip")))
                # Spark also puts it first on our own path, where all of our code is installed already.
                sys.path[:] = [path for path in sys.path if Path(path).name != "kafka-chaos.zip"]
            return session
    except (Py4JError, PySparkException, OSError) as error:
        raise CheckError(
            "Spark did not start, so nothing was checked; the journals are untouched",
            where=f"master {master}, driver memory {driver_memory}",
            found=_cause(log, error),
            next_step="check that the machine has this much free memory"
            + ("" if place.is_local else " and that the master answers")
            + ", then run `kafka-chaos check` again",
        ) from error


def _configuration(place: SparkPlace, scratch: Path) -> SparkConf:
    log4j = scratch / "log4j2.properties"
    log4j.write_text(_LOG4J)
    conf = SparkConf(loadDefaults=False)
    ours = {
        "spark.master": place.master,
        "spark.app.name": "kafka-chaos",
        "spark.driver.memory": place.driver_memory,
        # A check takes seconds: below about ten million records, the optimising compiler costs more CPU time
        # than it saves.
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={log4j.as_uri()} -XX:TieredStopAtLevel=1"
        ),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Journals are local files: listing thousands of parts is faster than starting a job to list them.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    }
    ours |= _local_settings(place.master) if place.is_local else cluster_settings(place)
    ours |= hadoop_s3_settings(os.environ)
    if place.jars:
        ours["spark.jars"] = ",".join(str(path) for path in place.jars)
    for name, value in {**ours, **place.settings}.items():
        conf.set(name, value)
    return conf


def _local_settings(master: str) -> dict[str, str]:
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * _cores(master)),
    }


def _cores(master: str) -> int:
    match = re.fullmatch(r"local\[(\d+)(?:,.*)?\]", master)
    return int(match.group(1)) if match else os.cpu_count() or 1


def _start(conf: SparkConf, log: IO[bytes]) -> SparkSession:
    if SparkContext._gateway is None:
        # The JVM prints to its own stderr before any logger is set up (incubator modules, default profile).
        SparkContext._gateway = launch_gateway(conf, popen_kwargs={"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
        SparkContext._jvm = SparkContext._gateway.jvm
    return SparkSession(SparkContext(conf=conf))


def _cause(log: Path, error: Exception) -> str:
    """The first two lines about a failure in Spark's log; Java often puts the reason in the second."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    for index, line in enumerate(lines):
        if re.search(r"error|exception|invalid|not found", line, re.IGNORECASE):
            return " ".join(part.strip() for part in lines[index : index + 2] if not part.startswith("\tat "))
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
