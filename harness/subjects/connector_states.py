"""The states of the connectors that a MirrorMaker 2 in this process's JVM has."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

RUNNING, FAILED = "RUNNING", "FAILED"


def task_states(maker: Any, flow: Any, connector: str) -> list[str]:
    """The states of a connector's tasks; none as long as it has no configuration."""
    try:
        status = maker.connectorStatus(flow, connector)
    except Py4JError:
        return []
    tasks = status.tasks()
    return [tasks.get(number).state() for number in range(tasks.size())]
