"""The command that starts a Spark Connect server from the jars of the PySpark wheel."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from checkers.engine.choice import EngineChoice
from checkers.engine.java import Java

MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"
SUBMIT = "org.apache.spark.deploy.SparkSubmit"

CLASS_DATA_VARIABLE = "KAFKA_CHAOS_CLASS_DATA"
"""Environment variable for another folder of archives of classes than `~/.cache/kafka-chaos/class-data`."""

_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.security.action", "sun.util.calendar",
)  # fmt: skip
"""Packages of java.base that Spark reaches by reflection (JavaModuleOptions in Spark's launcher)."""

_NO_UNSAFE = 24
"""The first Java that warns of sun.misc.Unsafe (JEP 498)."""


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def archive_of(java: Java) -> Path:
    """The path of the archive of Spark's loaded classes for this Java and this installation of PySpark,
    whether it is there or not (`checkers.engine.make_class_data` makes it)."""
    named = os.environ.get(CLASS_DATA_VARIABLE)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256("\0".join((java.output, java.program, str(spark_home()))).encode()).hexdigest()[:12]
    folder = Path(named) if named else base / "kafka-chaos" / "class-data"
    return folder / f"spark-{version('pyspark')}-java-{java.release}-{key}.jsa"


def server_command(
    java: Java, choice: EngineChoice, settings: Mapping[str, str], log4j: Path, *, archive: Path | None = None
) -> list[str]:
    """The command of a server with these settings.

    A local server is started directly. For a cluster, Spark's own SparkSubmit arranges what the cluster's
    kind needs; it then becomes the server, in the same JVM. `spark-submit` is a script around it that starts
    another JVM first.

    Args:
        archive: where the JVM writes an archive of its classes at its end; None: it uses the one that there
            is.
    """
    path = ":".join([f"{spark_home() / 'jars'}/*", *(str(jar) for jar in choice.jars)])
    options = [
        f"-Xmx{choice.driver_memory}",
        *_java_options(java, log4j),
        # A check takes seconds: below about ten million records, the optimising compiler costs more CPU
        # time than it saves. Without it the JVM reserves 48 MB for compiled code, which a few checks fill;
        # then half of its time goes into sweeping it and compiling again.
        *(("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m") if choice.is_local else ()),
        *_archive_options(java, archive),
        *settings.get("spark.driver.extraJavaOptions", "").split(),
        *("-cp", path),
    ]
    if choice.is_local:
        return [java.program, *options, *(f"-D{k}={v}" for k, v in settings.items()), MAIN]
    confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return [java.program, *options, SUBMIT, *confs, "--class", MAIN, "spark-internal"]


def _java_options(java: Java, log4j: Path) -> list[str]:
    """What Spark's own launcher gives to the JVM, but for the vector module, which smaller runtimes lack and
    Spark does without; what newer releases need; and our log settings."""
    # Netty leaves out direct memory on Java 24 and later, without which Arrow's allocator does not start.
    newer = ["-Dio.netty.noUnsafe=false", "--sun-misc-unsafe-memory-access=allow"]
    return [
        "-XX:+IgnoreUnrecognizedVMOptions",
        *(newer if java.release >= _NO_UNSAFE else ()),
        *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED),
        "--enable-native-access=ALL-UNNAMED",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        f"-Dlog4j2.configurationFile={log4j.as_uri()}",
    ]


def _archive_options(java: Java, archive: Path | None) -> list[str]:
    if archive is not None:
        return [f"-XX:ArchiveClassesAtExit={archive}"]
    made = archive_of(java)
    # Whatever the JVM says of an archive that does not fit is no failure: it starts without it.
    quiet = ["-Xlog:disable", "-Xlog:all=error:stderr"]
    return [f"-XX:SharedArchiveFile={made}", *quiet] if made.exists() else []
