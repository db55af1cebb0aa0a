"""Nodes and long lists in words, for targets, evidence and messages."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.node_layout import (
    CLIENT,
    FIRST_APPLICATION_ID,
    FIRST_CONTROLLER_ID,
    FIRST_ZOOKEEPER_ID,
    MOST_CONTROLLERS,
    is_application,
)

_LISTED = 8
_CONTROLLERS = range(FIRST_CONTROLLER_ID, FIRST_CONTROLLER_ID + MOST_CONTROLLERS)


def node_name(node: int) -> str:
    """A node in words: "broker 1"."""
    return node_names((node,))


def node_names(nodes: Iterable[int]) -> str:
    """Nodes in words: "broker 1, 2, controller 101"."""
    numbers = sorted(nodes)
    brokers = [str(node) for node in numbers if node >= 0 and node not in (*_CONTROLLERS, FIRST_ZOOKEEPER_ID)]
    controllers = [str(node) for node in numbers if node in _CONTROLLERS]
    keepers = [str(node) for node in numbers if node == FIRST_ZOOKEEPER_ID]
    applications = [str(node - FIRST_APPLICATION_ID) for node in numbers if is_application(node)]
    parts = ["broker " + ", ".join(brokers)] if brokers else []
    parts += ["controller " + ", ".join(controllers)] if controllers else []
    parts += ["ZooKeeper " + ", ".join(keepers)] if keepers else []
    parts += ["application " + ", ".join(applications)] if applications else []
    parts += ["the client"] if CLIENT in numbers else []
    return ", ".join(parts)


def shortened(words: list[str]) -> list[str]:
    """The first eight, and the number of the others."""
    return words if len(words) <= _LISTED else [*words[:_LISTED], f"and {len(words) - _LISTED:,} more"]
