"""The states of the tasks of connectors, in Kafka Connect and in a MirrorMaker 2 of this process's JVM."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from harness.subjects.lifecycle import ready, say

RUNNING, FAILED = "RUNNING", "FAILED"
_POLL_SECONDS = 0.3


def watch_tasks(states: Callable[[], list[str]], stopping: threading.Event) -> bool:
    """Say when all tasks run, and return when the application is to stop (True) or a task has failed
    (False); `states` asks for their states."""
    told = False
    while not stopping.wait(_POLL_SECONDS):
        found = states()
        if FAILED in found:
            say("the connector or its task has failed")
            return False
        if not told and found and set(found) == {RUNNING}:
            told = True
            ready()
    return True


def task_states(maker: Any, flow: Any, connector: str) -> list[str]:
    """The states of a connector's tasks; none as long as it has no configuration."""
    try:
        status = maker.connectorStatus(flow, connector)
    except Py4JError:
        return []
    tasks = status.tasks()
    return [tasks.get(number).state() for number in range(tasks.size())]
