"""Kafka's VerifiableProducer as a workload, each in its own container of the cluster's image.

The containers are on the cluster's network and use the brokers' listener for tools. Their output becomes the
journal of sends (`workloads.interop`).
"""

from __future__ import annotations

import ipaddress
import shlex
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from docker import DockerClient
from docker.errors import DockerException
from docker.types import EndpointConfig, LogConfig

from harness.cluster.managed import ManagedCluster
from harness.containers import capabilities, engine
from harness.model.errors import ClusterError, KafkaChaosError
from harness.model.node_layout import INTERNAL_PORT, TOOLS_PORT
from workloads.interop.live_sends import LiveSends
from workloads.interop.sends import ForeignSends

TOOL = "/opt/kafka/bin/kafka-verifiable-producer.sh"
CONFIG_FILE = "/tmp/client.properties"
_HEAP = "-Xms64m -Xmx256m"
_FIRST_ADDRESS = 150
"""Added to the gateway's address. The nodes' addresses are lower, and must stay free while a node is down."""
_ADDRESSES = 90
_STDERR_LINES = 20


def tools_bootstrap(cluster: ManagedCluster) -> str:
    """The bootstrap servers for tools on the cluster's network."""
    port = INTERNAL_PORT if cluster.spec.security is None else TOOLS_PORT
    return ",".join(f"{node.name}:{port}" for node in cluster.nodes if node.broker)


def tool_container(
    client: DockerClient,
    cluster: ManagedCluster,
    name: str,
    number: int,
    script: str,
    environment: dict[str, str],
) -> Any:
    """A container of the cluster's image on its network, not started; its output is not kept.

    Raises:
        ClusterError: the engine refuses.
    """
    gateway = ipaddress.ip_address(cluster.client_address)
    address = str(gateway + _FIRST_ADDRESS + number % _ADDRESSES)
    try:
        return client.containers.create(
            cluster.image.reference,
            ["bash", "-c", script],
            name=f"{cluster.name}-{name}",
            labels=engine.labels(cluster.name),
            **capabilities.NONE,
            environment={"KAFKA_HEAP_OPTS": _HEAP, **environment},
            network=cluster.name,
            networking_config={
                cluster.name: EndpointConfig(client.api._version, aliases=[name], ipv4_address=address)
            },
            log_config=LogConfig(type=LogConfig.types.NONE),
        )
    except (DockerException, OSError) as error:
        raise ClusterError(
            "a client's container could not be created",
            where=name,
            found=str(error),
            next_step="`kafka-chaos doctor` shows what this engine can do",
        ) from error


class JavaProcess:
    """One VerifiableProducer. A thread reads its output until it ends.

    `sends` holds the sends that it has reported. `exit_code` is None while it runs; `failure` is the error
    that ended the thread early.
    """

    def __init__(
        self,
        client: DockerClient,
        cluster: ManagedCluster,
        number: int,
        arguments: list[str],
        properties: str,
        sends: ForeignSends,
        journal: LiveSends,
    ) -> None:
        script = f'printf %s "$CLIENT_PROPERTIES" >{CONFIG_FILE} && exec {TOOL} {shlex.join(arguments)}'
        self.number = number
        self.sends = sends
        self.exit_code: int | None = None
        self.failure: KafkaChaosError | None = None
        self.stopped = False
        self._journal = journal
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._started = threading.Event()
        self._ended = threading.Event()
        self._container = tool_container(
            client, cluster, f"java-{number}", number, script, {"CLIENT_PROPERTIES": properties}
        )
        try:
            output = self._container.attach(stdout=True, stderr=True, stream=True, demux=True)
            self._container.start()
        except (DockerException, OSError) as error:
            self.remove()
            raise ClusterError(
                "a Java producer's container could not be started", where=f"java-{number}", found=str(error)
            ) from error
        self._thread = threading.Thread(target=self._take, args=(output,), name=f"java-{number}", daemon=True)
        self._thread.start()

    def _take(self, output: Any) -> None:
        try:
            rest = {0: b"", 1: b""}
            for chunks in output:
                for which, chunk in enumerate(chunks):
                    *lines, rest[which] = (rest[which] + (chunk or b"")).split(b"\n")
                    self._lines(which, lines)
            for which, line in rest.items():
                self._lines(which, [line] if line else [])
            self.exit_code = int(self._container.wait()["StatusCode"])
        except KafkaChaosError as error:
            self.failure = error
        except (DockerException, OSError) as error:
            self.failure = ClusterError(
                "a Java producer's output ended early", where=f"java-{self.number}", found=str(error)
            )
        finally:
            self._ended.set()
            self._started.set()

    def _lines(self, which: int, lines: list[bytes]) -> None:
        if which == 1:
            self._stderr.extend(line.decode(errors="replace") for line in lines)
        elif lines:
            self._journal.take(self.sends, lines)
            if self.sends.started:
                self._started.set()

    def started(self, seconds: float) -> bool:
        """Wait until it reports its start; False if it does not within `seconds`, or has ended."""
        return self._started.wait(seconds) and self.sends.started

    def wait(self, seconds: float) -> bool:
        """Wait for at most `seconds` until it has ended; returns whether it has."""
        return self._ended.wait(max(0.0, seconds))

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    def end(self, signal: str = "SIGTERM") -> None:
        """Stop it: in order, after waiting for its reports (SIGTERM), or at once (SIGKILL)."""
        self.stopped = True
        # It may have ended by itself.
        with suppress(DockerException, OSError):
            self._container.kill(signal)

    def last_message(self) -> str:
        """The exception that it printed last, else the last line that it printed."""
        printed = [line for line in self._stderr if line.strip()]
        exceptions = [line for line in printed if "Exception" in line]
        return (exceptions or printed or ["nothing"])[-1].strip()

    def remove(self) -> None:
        """Remove the container; safe to call again."""
        with suppress(DockerException, OSError):
            self._container.remove(v=True, force=True)


def await_all(processes: list[JavaProcess], until: float) -> bool:
    """Wait until all have ended, or until `until` (time.monotonic()); returns whether all have."""
    return all(process.wait(until - time.monotonic()) for process in processes)
