"""A JVM as part of an application: in its process group, so that what kills or pauses it acts on both; and
what Kafka's own applications in it have in common: settings, and the states of connectors' tasks."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from workloads.applications.built_in.lifecycle import ready, say

RUNNING, FAILED = "RUNNING", "FAILED"
_POLL_SECONDS = 0.3
_LOG = "-Dorg.slf4j.simpleLogger"
LOG_TO_STDERR = (
    f"{_LOG}.defaultLogLevel=warn",
    f"{_LOG}.showDateTime=true",
    f"{_LOG}.dateTimeFormat=HH:mm:ss.SSS",
    f"{_LOG}.showShortLogName=true",
)
"""Options by which slf4j-simple prints warnings and errors, with their times."""


@contextmanager
def _ignored() -> Iterator[None]:
    """A process that is started meanwhile ignores these signals; a JVM takes that over from its parent."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def start_jvm(jars: Sequence[Path], options: Sequence[str] = ()) -> Any:
    """The gateway of a new JVM with these jars on its class path; it ends with this process.

    The JVM's process is its attribute `proc`, as PySpark's gateway has it.
    """
    (own,) = (Path(str(files("pyspark"))) / "jars").glob("py4j-*.jar")
    # SIGTERM to the process group is for this process, which then stops what runs in the JVM.
    with _ignored():
        port, token, process = launch_gateway(
            jarpath=str(own),
            classpath=os.pathsep.join(map(str, (own, *jars))),
            javaopts=["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options],
            die_on_exit=True,
            enable_auth=True,
            # What it logs is the application's own log.
            redirect_stderr=sys.stderr,
            # Without a group of its own: a signal to this process's group reaches the JVM.
            create_new_process_group=False,
            return_proc=True,
        )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    gateway.proc = process
    return gateway


def java_map(gateway: Any, settings: Mapping[str, str]) -> Any:
    """The settings as a java.util.Map."""
    made = gateway.jvm.java.util.HashMap()
    for name, value in settings.items():
        made.put(name, value)
    return made


def watch_tasks(
    gateway: Any, states: Callable[[], list[str]], stop: Callable[[], object], stopping: threading.Event
) -> int:
    """Say when all tasks run, and when the application is to stop, end them by `stop`, and the JVM; `states`
    asks for their states. Returns the exit code, 3 if a task has failed."""
    announced = False
    while not stopping.wait(_POLL_SECONDS):
        current = states()
        if FAILED in current:
            say("the connector or its task has failed")
            return 3
        if not announced and current and set(current) == {RUNNING}:
            announced = True
            ready()
    stop()
    gateway.shutdown()
    return 0


def task_states(maker: Any, flow: Any, connector: str) -> list[str]:
    """The states of a connector's tasks; none as long as it has no configuration."""
    try:
        status = maker.connectorStatus(flow, connector)
    except Py4JError:
        return []
    tasks = status.tasks()
    return [tasks.get(number).state() for number in range(tasks.size())]
