"""From a cluster's spec to its nodes: a pure function, used by Testcontainers and by the Compose files.

Listeners of a broker: CLIENT (9092, published on 127.0.0.1 and advertised there), INTERNAL (9094, between
brokers and for tools inside the network), CONTROLLER (9093, controllers only). Property names turn into
KAFKA_* variables by the rules of the official image: `.` to `_`, `_` to `__`, `-` to `___`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.spec import PROFILES, ClusterSpec, rack_of

CLIENT_PORT, CONTROLLER_PORT, INTERNAL_PORT = 9092, 9093, 9094
DATA_DIR = "/var/lib/kafka/data"
FIRST_CONTROLLER_ID = 101

_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
# Kafka's defaults fit big machines; these change no guarantee, only memory and waiting at start.
_ALWAYS = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "4194304",
    # 50 by default: so many partitions to elect and fetch at every restart, for a handful of groups.
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One container of a cluster. `host_port` is None for a node without a client listener."""

    id: int
    name: str
    broker: bool
    controller: bool
    host_port: int | None
    environment: dict[str, str] = field(hash=False)


def plan(
    spec: ClusterSpec, host_ports: list[int], cluster_id: str, heap: str = "-Xms256m -Xmx512m"
) -> list[Node]:
    """The nodes of a cluster, controllers first.

    Args:
        host_ports: a port on 127.0.0.1 for each broker, in order of broker id (1, 2, ...).
        cluster_id: Kafka's cluster id (22 characters of base64).
    """
    if len(host_ports) != spec.brokers:
        raise ValueError(f"{spec.brokers} brokers need as many ports, not {len(host_ports)}")
    broker_ids = list(range(1, spec.brokers + 1))
    if spec.combined:
        voters = [(number, f"broker-{number}") for number in broker_ids]
    else:
        first = FIRST_CONTROLLER_ID
        voters = [(first + i, f"controller-{first + i}") for i in range(spec.controllers)]
    quorum = ",".join(f"{number}@{name}:{CONTROLLER_PORT}" for number, name in voters)
    replication = str(min(3, spec.brokers))
    shared = {
        **_ALWAYS,
        "offsets.topic.replication.factor": replication,
        "transaction.state.log.replication.factor": replication,
        "transaction.state.log.min.isr": str(min(2, spec.brokers)),
        **PROFILES[spec.profile],
        **({"replica.selector.class": _RACK_AWARE} if spec.racks else {}),
        **spec.properties,
        "controller.quorum.voters": quorum,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": DATA_DIR,
    }
    base = {"CLUSTER_ID": cluster_id, "KAFKA_HEAP_OPTS": heap}

    def environment(own: dict[str, str]) -> dict[str, str]:
        return base | {variable(name): value for name, value in sorted((shared | own).items())}

    nodes = []
    if not spec.combined:
        for number, name in voters:
            own = {
                "node.id": str(number),
                "process.roles": "controller",
                "listeners": f"CONTROLLER://:{CONTROLLER_PORT}",
            }
            nodes.append(Node(number, name, False, True, None, environment(own)))
    for number, port in zip(broker_ids, host_ports, strict=True):
        name = f"broker-{number}"
        listeners = f"CLIENT://:{CLIENT_PORT},INTERNAL://:{INTERNAL_PORT}"
        own = {
            "node.id": str(number),
            "process.roles": "broker,controller" if spec.combined else "broker",
            "listeners": listeners + (f",CONTROLLER://:{CONTROLLER_PORT}" if spec.combined else ""),
            "advertised.listeners": f"CLIENT://127.0.0.1:{port},INTERNAL://{name}:{INTERNAL_PORT}",
            "inter.broker.listener.name": "INTERNAL",
            **({"broker.rack": rack_of(number)} if spec.racks else {}),
        }
        nodes.append(Node(number, name, True, spec.combined, port, environment(own)))
    return nodes


def variable(name: str) -> str:
    """The environment variable from which the official image makes this property."""
    return "KAFKA_" + name.replace("_", "__").replace("-", "___").replace(".", "_").upper()
