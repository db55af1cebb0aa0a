"""Spark's own standalone cluster on 127.0.0.1, from the jars of the PySpark wheel, without scripts."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from harness.model.environment import users_environment

HOME = Path(pyspark.__file__).parent
START_SECONDS = 400
"""On a machine that is busy with other tests."""
_JAVA_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment() -> dict[str, str]:
    return users_environment() | {
        "SPARK_HOME": str(HOME),
        # As its scripts set it: a worker that builds the command of an executor asks for it.
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def wait_for(text: str, log: Path, process: subprocess.Popen[bytes], times: int = 1) -> None:
    """Until the log holds `text` so often.

    Raises:
        AssertionError: the process ended, or it took too long.
    """
    deadline = time.monotonic() + START_SECONDS
    while log.read_text(errors="replace").count(text) < times:
        assert process.poll() is None, f"it ended: {log.read_text(errors='replace')[-2000:]}"
        assert time.monotonic() < deadline, f"no {text!r} in {log.read_text(errors='replace')[-2000:]}"
        time.sleep(0.1)


@contextmanager
def running(command: list[str], log: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours and its log; ended when the block is left."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=environment() | more, cwd=log.parent
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _java(main: str, *arguments: str, heap: str = "256m") -> list[str]:
    java = shutil.which("java")
    assert java is not None
    return [java, f"-Xmx{heap}", *_JAVA_OPTIONS, "-cp", f"{HOME / 'jars'}/*", main, *arguments]


@contextmanager
def cluster(scratch: Path, workers: int = 2, memory: str = "1g") -> Iterator[str]:
    """A master and workers of one core each; gives the master's URL."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        log = scratch / "master.log"
        master = stack.enter_context(
            running(
                _java(
                    "org.apache.spark.deploy.master.Master",
                    *("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"),
                ),
                log,
            )
        )
        wait_for("New state: ALIVE", log, master)
        for number in range(workers):
            folder = scratch / f"worker-{number}"
            folder.mkdir()
            stack.enter_context(
                running(
                    _java(
                        "org.apache.spark.deploy.worker.Worker",
                        *("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1"),
                        *("--memory", memory, "--work-dir", str(folder), url),
                    ),
                    scratch / f"worker-{number}.log",
                )
            )
        wait_for("Registering worker", log, master, workers)
        yield url


@contextmanager
def connect_server(scratch: Path) -> Iterator[str]:
    """A Spark Connect server on local[1]; gives its URL."""
    port = free_port()
    log = scratch / "connect.log"
    submit = [
        *(str(HOME / "bin" / "spark-submit"), "--master", "local[1]", "--driver-memory", "1g"),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
        *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
        *("--conf", "spark.ui.enabled=false", "--conf", f"spark.local.dir={scratch}"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
    ]
    with running(submit, log) as server:
        wait_for("Spark Connect server started", log, server)
        yield f"sc://127.0.0.1:{port}"
