"""Docker Compose files of the same clusters, for manual use, made from the same nodes as managed clusters."""

from __future__ import annotations

from typing import Any

import yaml

from compose import FOLDER
from harness.cluster.node_plan import plan
from harness.model.node_layout import CLIENT_PORT
from harness.spec.cluster import ClusterSpec, Profile

FIRST_PORT = 19092
_CLUSTER_ID = "a2Fma2EtY2hhb3MtaGFuZA"
VARIANTS = {
    "cluster-3-brokers.yaml": ClusterSpec(profile=Profile.KAFKA),
    "cluster-3-brokers-fast.yaml": ClusterSpec(profile=Profile.FAST),
    "cluster-3-brokers-3-controllers.yaml": ClusterSpec(controllers=3, profile=Profile.KAFKA),
    "cluster-1-combined.yaml": ClusterSpec(brokers=1, combined=True, profile=Profile.KAFKA),
}
_HEADER = """\
# A Kafka cluster for use by hand: docker compose -f {name} up
# Made by `kafka-chaos compose --write` from harness/cluster/node_plan.py: change that, not this file.
# Clients: 127.0.0.1:{first} and up. Another image: KAFKA_IMAGE=... docker compose ...
"""


def render(name: str) -> str:
    """The text of one Compose file.

    Raises:
        KeyError: there is no such variant.
    """
    spec = VARIANTS[name]
    ports = [FIRST_PORT + number for number in range(spec.brokers)]
    services: dict[str, Any] = {}
    for node in plan(spec, ports, _CLUSTER_ID):
        service: dict[str, Any] = {
            "image": f"${{KAFKA_IMAGE:-apache/kafka:{spec.version}}}",
            "hostname": node.name,
            "environment": dict(node.environment),
        }
        if node.host_port is not None:
            service["ports"] = [f"127.0.0.1:{node.host_port}:{CLIENT_PORT}"]
        services[node.name] = service
    body = yaml.safe_dump({"services": services}, sort_keys=False, width=1000)
    return _HEADER.format(name=name, first=FIRST_PORT) + body


def drifted() -> tuple[str, ...]:
    """Names of the files that differ from what `render` returns now."""
    files = {name: FOLDER / name for name in VARIANTS}
    return tuple(name for name, at in files.items() if not at.is_file() or at.read_text() != render(name))


def write_all() -> tuple[str, ...]:
    """Rewrite every file that differs; returns their names."""
    changed = drifted()
    for name in changed:
        (FOLDER / name).write_text(render(name))
    return changed
