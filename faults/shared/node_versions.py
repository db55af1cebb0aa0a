"""Which version of Kafka a node runs, by its own word, and the order of nodes in an upgrade."""

from __future__ import annotations

import re
from collections.abc import Iterable

from faults.shared.words import node_name
from faults.targets.fault_cluster import FaultCluster
from harness.model.errors import FaultError
from harness.model.kafka_releases import METADATA, level_name, release_of, version_key
from harness.model.polling import poll_within

_PRINTED = re.compile(r"Kafka version: (\d+\.\d+\.\d+)\b")
"""Every node prints it when it starts (`AppInfoParser`)."""
_ERROR = re.compile(r"\b(ERROR|FATAL)\b")
_LINES = 3
_PROOF_SECONDS = 15.0


def running_version(cluster: FaultCluster, node: int) -> str | None:
    """The version that a node has printed since its last start; None: none yet."""
    versions = _PRINTED.findall(cluster.log_since(node, cluster.started_ns(node)))
    return str(versions[-1]) if versions else None


def versions_of(cluster: FaultCluster, nodes: Iterable[int]) -> dict[int, str]:
    """The version of each node.

    Raises:
        FaultError: a node has printed none.
    """
    versions = {}
    for node in nodes:
        version = running_version(cluster, node)
        if version is None:
            raise FaultError(
                "a node does not tell its version",
                where=node_name(node),
                expected="a line `Kafka version: ...` in its log since its last start",
                next_step="leave the level of the root logger at INFO",
            )
        versions[node] = version
    return versions


def in_upgrade_order(cluster: FaultCluster, versions: dict[int, str], target: str) -> tuple[int, ...]:
    """The nodes in the order in which they get the version `target`: controllers first, but last on the way
    down, so that no broker is ever newer than a controller; combined nodes are brokers, too."""
    down = version_key(target) < max(map(version_key, versions.values()))
    only_controllers = set(cluster.controller_ids) - set(cluster.broker_ids)
    return tuple(sorted(versions, key=lambda node: ((node in only_controllers) == down, node)))


def not_at(cluster: FaultCluster, nodes: Iterable[int], version: str) -> str | None:
    """Wait until every node has printed this version and every broker supports the metadata.version of its
    release; returns what is still missing after 15 s, in words."""
    wanted = tuple(nodes)
    newest = release_of(version).metadata

    def missing() -> str | None:
        for node in wanted:
            found = running_version(cluster, node)
            if found != version:
                return f"{node_name(node)} runs Kafka {found or 'of an unknown version'}, not {version}"
            if node not in cluster.broker_ids:
                continue
            features = cluster.features(node)
            if features is None:
                return f"{node_name(node)} does not answer"
            level = features.supported.get(METADATA, 0)
            if level != newest:
                return (
                    f"{node_name(node)} supports metadata.version up to {level_name(level)}, "
                    f"not {level_name(newest)}"
                )
        return None

    return poll_within(_PROOF_SECONDS, missing, every=0.3)


def last_errors(cluster: FaultCluster, nodes: Iterable[int]) -> list[str]:
    """The last errors that those of the nodes have printed which have ended or do not answer: why Kafka does
    not start with another version, for example."""
    printed = []
    for node in nodes:
        running = cluster.is_running(node)
        if running and (node not in cluster.broker_ids or cluster.features(node) is not None):
            continue
        lines = cluster.log_since(node, cluster.started_ns(node)).splitlines()
        errors = [line for line in lines if _ERROR.search(line)][-_LINES:]
        printed += [f"{node_name(node)} printed: {line}" for line in errors]
    return printed
