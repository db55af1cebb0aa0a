"""A JVM beside this process, with a version of Kafka's client library, called through py4j.

Preferred to a program of our own in a container: nothing has to be compiled or shipped (Spark provides py4j
and needs Java anyway), every version of the library is one jar, and these producers have the same address as
the harness's own clients, so that faults between clients and brokers act on them too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import DockerException
from py4j import java_gateway, protocol  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from harness.cluster.containers import capabilities, docker_engine, images
from harness.cluster.containers.exec import files_in
from harness.model.errors import ClusterError, PrerequisiteMissing
from harness.model.host.fetched import fetching, jar_cache, last_lines, require_commands, run_maven
from workloads.records.journal.parquet_parts import ClosesAtEnd

_LIBS = "/opt/kafka/libs"
_LABEL = "client-jar"
"""Label, in place of a cluster's name, of the container from which the jar is copied."""
_OPTIONS = ["-Xms32m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def client_jar(client: DockerClient, version: str) -> Path:
    """The path of kafka-clients of a version: from the cache, else from that version's image if it is local,
    else fetched with Maven (10 MB).

    Raises:
        PrerequisiteMissing: the jar is neither in the cache nor in an image, and Maven cannot fetch it.
    """
    jar = jar_cache() / f"kafka-clients-{version}.jar"
    if jar.exists():
        return jar
    with fetching(jar) as fetched:
        if not _from_image(client, version, fetched):
            _from_maven(version, fetched)
    return jar


def _from_image(client: DockerClient, version: str, target: Path) -> bool:
    image = images.local(client, version)
    if image is None:
        return False
    container = None
    try:
        container = client.containers.create(
            image.reference, ["true"], labels=docker_engine.labels(_LABEL), **capabilities.NONE
        )
        # None, where the image has another layout.
        jar = files_in(container, f"{_LIBS}/{target.name}").get(target.name)
    except DockerException:
        return False
    finally:
        if container is not None:
            with suppress(DockerException):
                container.remove(v=True, force=True)
    if jar is not None:
        target.write_bytes(jar)
    return jar is not None


def _from_maven(version: str, target: Path) -> None:
    require_commands({"mvn": "maven"}, f"fetching the Java client of Kafka {version}")
    artifact = f"-Dartifact=org.apache.kafka:kafka-clients:{version}"
    error = run_maven("dependency:copy", artifact, f"-DoutputDirectory={target.parent}")
    if error is not None or not target.exists():
        raise PrerequisiteMissing(
            f"the Java client of Kafka {version} is not available",
            expected="an image of that version on this machine, or one that Maven can resolve",
            found=error or "no such jar among its files",
            next_step="use a released version, or check that Maven reaches its repository",
        )


class _Client(java_gateway.GatewayClient):  # type: ignore[misc]
    """Raises Java's exceptions itself. Once a Spark session was made in this process, py4j's own way asks
    Spark's JVM about every exception of any JVM (pyspark.errors.exceptions.captured)."""

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> Any:
        answer = super().send_command(command, retry, binary)
        if not binary and protocol.is_error(answer)[0] and answer[1:2] == protocol.REFERENCE_TYPE:
            target, name = [*command.split("\n"), "", ""][1:3]
            protocol.get_return_value(answer, self, target, name)
        return answer


class _Gateway(java_gateway.JavaGateway):  # type: ignore[misc]
    def _create_gateway_client(self) -> _Client:
        return _Client(gateway_parameters=self.gateway_parameters)


def _launch(command: list[str]) -> tuple[int, str, subprocess.Popen[str]]:
    """Start py4j's server: its port, its secret and its process.

    py4j's own `launch_gateway` is not used: of children that it started beside a session of Spark Connect
    some ended before they became a JVM.

    Raises:
        OSError: there is no such command.
        ValueError: it ended; the text says how, and what it printed.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [*command, "py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            process_group=0,  # In our process group, Ctrl-C would end it before the journals are closed.
        )
        assert process.stdout is not None
        port, token = process.stdout.readline(), process.stdout.readline()
        if not token:
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            said = port + process.communicate()[0]
            errors.seek(0)
            raise ValueError(f"{last_lines(said + errors.read())} (exit code {process.returncode})")
    # Else it would wait once the pipe is full.
    threading.Thread(target=deque, args=(process.stdout, 0), daemon=True).start()
    return int(port), token.strip(), process


class Jvm(ClosesAtEnd):
    """A JVM with these jars on its class path; use as a context manager or call `close`.

    It ends when this process does, in whatever way, because it reads a pipe that is closed then. It listens
    on 127.0.0.1 and requires a secret.

    Raises:
        ClusterError: it does not start.
    """

    def __init__(self, *jars: Path) -> None:
        # Those of py4j and of slf4j, through which Kafka's client logs, both from pyspark.
        folder = Path(str(files("pyspark"))) / "jars"
        own = [path for name in ("py4j-*.jar", "slf4j-api-*.jar") for path in folder.glob(name)]
        home = os.environ.get("JAVA_HOME")
        java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
        command = [java or "java", "-classpath", os.pathsep.join(map(str, (*own, *jars))), *_OPTIONS]
        try:
            port, token, self._process = _launch(command)
            self._gateway = _Gateway(
                gateway_parameters=java_gateway.GatewayParameters(
                    port=port, auth_token=token, auto_convert=False
                )
            )
            self._gateway.jvm.System.currentTimeMillis()
        except (OSError, ValueError, Py4JError) as error:
            raise ClusterError(
                "the JVM of the Java producers does not start", where=java or "PATH", found=str(error)
            ) from error

    @property
    def packages(self) -> Any:
        """Java's packages: `packages.java.util.HashMap()`."""
        return self._gateway.jvm

    def accept_callbacks(self) -> None:
        """Let Java call objects of this process, whose inner class `Java` names the interfaces. The calls
        come in a thread of their own; the thread that called Java waits meanwhile."""
        self._gateway.start_callback_server(
            java_gateway.CallbackServerParameters(port=0, daemonize=True, daemonize_connections=True)
        )
        server = self._gateway.java_gateway_server
        address = server.getCallbackClient().getAddress()
        server.resetCallbackClient(address, self._gateway.get_callback_server().get_listening_port())

    def close(self) -> None:
        """End the JVM; safe to call again."""
        with suppress(Py4JError, OSError):
            self._gateway.shutdown()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def each_of(found: Any) -> Iterator[Any]:
    """The elements of a Java collection, or of anything else with an iterator."""
    iterator = found.iterator()
    while iterator.hasNext():
        yield iterator.next()


def java_map(packages: Any, values: Mapping[str, Any]) -> Any:
    """A java.util.HashMap of texts; Java writes True and False in small letters."""
    made = packages.java.util.HashMap()
    for name, value in values.items():
        made.put(name, str(value).lower() if isinstance(value, bool) else str(value))
    return made


def java_list(packages: Any, *values: Any) -> Any:
    """A java.util.ArrayList."""
    made = packages.java.util.ArrayList()
    for value in values:
        made.add(value)
    return made


def java_duration(packages: Any, seconds: float) -> Any:
    """A java.time.Duration in whole milliseconds."""
    return packages.java.time.Duration.ofMillis(round(seconds * 1000))
