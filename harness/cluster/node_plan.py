"""Plans the nodes of a cluster from its spec: a pure function, used for containers and for Compose files.

Listeners of a broker: CLIENT (9092, published on 127.0.0.1 and advertised there), INTERNAL (9094, between
brokers and for tools inside the network), CONTROLLER (9093, controllers only). If clients need TLS or a
password, CLIENT requires it, and so does TOOLS (9095), which tools inside the network then use. Names of
properties become KAFKA_* variables by the rules of the official image: `.` to `_`, `_` to `__`, `-` to `___`.
With a proxy each listener is on 127.0.0.1 of its node at another port (`BEHIND_PROXY`), and the proxy on its.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from harness.cluster import zookeeper
from harness.cluster.credentials import Credentials
from harness.model.host.ports import HOST
from harness.model.node_layout import (
    BEHIND_PROXY,
    CLIENT_PORT,
    CONTROLLER_PORT,
    DATA_DIR,
    FIRST_CONTROLLER_ID,
    FIRST_ZOOKEEPER_ID,
    INTERNAL_PORT,
    TOOLS_PORT,
    ZOOKEEPER_PORT,
)
from harness.spec.cluster import PROFILES, SESSION_SECONDS, ClusterSpec, Metadata, rack_of

FOR_CLIENTS = ("CLIENT", "TOOLS")
"""The listeners that require what `security` says."""
_HEAP = "-Xms256m -Xmx512m"
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
# Kafka's defaults suit big machines. These change no guarantee, only memory use and start time.
_ALWAYS = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "4194304",
    # The default is 50: too many partitions to elect and fetch at every restart, for a few groups.
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One container of a cluster. `host_port` is None for a node without a client listener. With ZooKeeper
    any broker may become the controller, so `controller` is true for all."""

    id: int
    name: str
    broker: bool = False
    controller: bool = False
    host_port: int | None = None
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    command: tuple[str, ...] | None = None
    """What the container runs instead of the image's entry point."""
    zookeeper: bool = False
    proxied: tuple[tuple[str, int], ...] = ()
    """Name and port of each listener that is behind a proxy."""


_ADVERTISED, _ADVERTISED_BY_CONTROLLER = "KAFKA_ADVERTISED_LISTENERS", "KAFKA_advertised_LISTENERS"


def plan(
    spec: ClusterSpec, host_ports: list[int], cluster_id: str, secured: Credentials | None = None
) -> list[Node]:
    """The nodes of a cluster, controllers first.

    Args:
        host_ports: a port on 127.0.0.1 for each broker, in order of broker id (1, 2, ...).
        cluster_id: Kafka's cluster id (22 characters of base64).
        secured: certificates and password if `spec.security` needs them. Without them the nodes have the same
            names and addresses, but could not start.

    Raises:
        ValueError: the number of ports is not the number of brokers.
    """
    if len(host_ports) != spec.brokers:
        raise ValueError(f"{spec.brokers} brokers need as many ports, not {len(host_ports)}")
    if spec.metadata is Metadata.ZOOKEEPER:
        return _with_zookeeper(spec, host_ports, secured)
    numbers = () if spec.combined else range(FIRST_CONTROLLER_ID, FIRST_CONTROLLER_ID + spec.controllers)
    controllers = [(number, f"controller-{number}") for number in numbers]
    brokers = [(number, f"broker-{number}") for number in range(1, spec.brokers + 1)]
    voters = brokers if spec.combined else controllers
    quorum = ",".join(f"{number}@{name}:{CONTROLLER_PORT}" for number, name in voters)
    shared = {
        **_settings(spec),
        "controller.quorum.voters": quorum,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": _protocols(spec, "CONTROLLER"),
    }
    base = {"CLUSTER_ID": cluster_id, "KAFKA_HEAP_OPTS": _HEAP}
    if spec.loggers:
        base["KAFKA_LOG4J_LOGGERS"] = ",".join(f"{name}={level}" for name, level in spec.loggers.items())

    def environment(own: dict[str, str]) -> dict[str, str]:
        given = base | {variable(name): value for name, value in sorted((shared | own).items())}
        if own["process.roles"] == "controller" and _ADVERTISED in given:
            # The images refuse this variable on controllers, though Kafka takes it since 3.9 (KIP-853). They
            # compare its name as it is, and make the property's of it in lower case.
            given[_ADVERTISED_BY_CONTROLLER] = given.pop(_ADVERTISED)
        if spec.metadata_version is not None:
            given[zookeeper.SETTINGS] = zookeeper.settings(shared | own)
        return given

    command = None if spec.metadata_version is None else format_command(spec.metadata_version)
    listener = _listening(spec, "CONTROLLER", CONTROLLER_PORT)
    nodes = []
    for number, name in controllers:
        own = {"node.id": str(number), "process.roles": "controller", "listeners": listener}
        if spec.controllers_advertise:
            own["advertised.listeners"] = _advertised_controller(name)
        nodes.append(Node(number, name, controller=True, environment=environment(own), command=command))
    for (number, name), port in zip(brokers, host_ports, strict=True):
        own = {
            **_broker_settings(spec, number, port, secured),
            "node.id": str(number),
            "process.roles": "broker,controller" if spec.combined else "broker",
        }
        if spec.combined:
            own["listeners"] += f",{listener}"
            if spec.controllers_advertise:
                own["advertised.listeners"] += f",{_advertised_controller(name)}"
        nodes.append(Node(number, name, True, spec.combined, port, environment(own), command))
    return _proxied(spec, nodes)


def _proxied(spec: ClusterSpec, nodes: list[Node]) -> list[Node]:
    """The nodes with the listeners that a proxy is put before."""
    if not spec.proxy:
        return nodes
    broker = {"CLIENT": CLIENT_PORT, "INTERNAL": INTERNAL_PORT}
    if spec.security is not None:
        broker["TOOLS"] = TOOLS_PORT
    controller = {} if spec.metadata is Metadata.ZOOKEEPER else {"CONTROLLER": CONTROLLER_PORT}

    def listeners(node: Node) -> dict[str, int]:
        return (broker if node.broker else {}) | (controller if node.controller else {})

    return [replace(node, proxied=tuple(listeners(node).items())) for node in nodes]


def _listening(spec: ClusterSpec, name: str, port: int) -> str:
    """An entry of `listeners`."""
    return f"{name}://{HOST}:{port + BEHIND_PROXY}" if spec.proxy else f"{name}://:{port}"


def _advertised_controller(name: str) -> str:
    """An entry of `advertised.listeners`. Without it a controller behind a proxy tells the others that it is
    to be found on 127.0.0.1, and a broker that has to connect again finds nobody there (KIP-853: the leader's
    endpoints are part of Fetch responses)."""
    return f"CONTROLLER://{name}:{CONTROLLER_PORT}"


def format_command(version: str) -> tuple[str, ...]:
    """A command that formats unformatted storage with this metadata.version, and then runs the image's entry
    point, which cannot choose the version and keeps formatted storage."""
    script = f"""
set -e
if [ ! -f {DATA_DIR}/meta.properties ]; then
  printf '%s\\n' "${zookeeper.SETTINGS}" >/tmp/format.properties
  /opt/kafka/bin/kafka-storage.sh format --cluster-id "$CLUSTER_ID" --config /tmp/format.properties \\
    --release-version {version}
fi
exec /etc/kafka/docker/run
"""
    return ("bash", "-c", script)


def _with_zookeeper(spec: ClusterSpec, host_ports: list[int], secured: Credentials | None) -> list[Node]:
    keeper = f"zookeeper-{FIRST_ZOOKEEPER_ID}"
    base = {"KAFKA_HEAP_OPTS": _HEAP}
    shared = {
        "zookeeper.session.timeout.ms": str(round(SESSION_SECONDS[spec.profile] * 1000)),
        # The default is the session time-out, and a broker would end if ZooKeeper takes longer to start.
        "zookeeper.connection.timeout.ms": "60000",
        **_settings(spec),
        "zookeeper.connect": f"{keeper}:{ZOOKEEPER_PORT}",
        "listener.security.protocol.map": _protocols(spec),
    }
    kept = base | {zookeeper.SETTINGS: zookeeper.settings(zookeeper.server_settings(DATA_DIR))}
    command = zookeeper.ZOOKEEPER_COMMAND
    nodes = [Node(FIRST_ZOOKEEPER_ID, keeper, environment=kept, command=command, zookeeper=True)]
    for number, port in enumerate(host_ports, start=1):
        own = _broker_settings(spec, number, port, secured) | {"broker.id": str(number)}
        environment = base | {zookeeper.SETTINGS: zookeeper.settings(shared | own)}
        name, command = f"broker-{number}", zookeeper.BROKER_COMMAND
        nodes.append(Node(number, name, True, True, port, environment, command))
    return _proxied(spec, nodes)


def _settings(spec: ClusterSpec) -> dict[str, str]:
    """Properties of every node, with KRaft and with ZooKeeper."""
    replication, min_isr = str(min(3, spec.brokers)), str(min(2, spec.brokers))
    # The topic in which share groups have their state (KIP-932); older versions do not know it.
    share_state = {
        "share.coordinator.state.topic.num.partitions": "3",
        "share.coordinator.state.topic.replication.factor": replication,
        "share.coordinator.state.topic.min.isr": min_isr,
    }
    return {
        **_ALWAYS,
        "offsets.topic.replication.factor": replication,
        "transaction.state.log.replication.factor": replication,
        "transaction.state.log.min.isr": min_isr,
        **(share_state if spec.without_share_groups is None else {}),
        **PROFILES[spec.profile],
        **({"replica.selector.class": _RACK_AWARE} if spec.racks else {}),
        **(spec.security.authorizer if spec.security is not None else {}),
        **spec.properties,
        "log.dirs": DATA_DIR,
    }


def _protocols(spec: ClusterSpec, *more: str) -> str:
    plain = dict.fromkeys(("CLIENT", "INTERNAL", *more), "PLAINTEXT")
    if spec.security is not None:
        plain |= dict.fromkeys(FOR_CLIENTS, spec.security.protocol)
    return ",".join(f"{name}:{protocol}" for name, protocol in plain.items())


def _broker_settings(
    spec: ClusterSpec, number: int, port: int, secured: Credentials | None
) -> dict[str, str]:
    """Properties of one broker, with KRaft and with ZooKeeper: its own, listeners, rack and credentials."""
    name = f"broker-{number}"
    listening = {"CLIENT": CLIENT_PORT, "INTERNAL": INTERNAL_PORT}
    advertised = {"CLIENT": f"{HOST}:{port}", "INTERNAL": f"{name}:{INTERNAL_PORT}"}
    if spec.security is not None:
        listening["TOOLS"], advertised["TOOLS"] = TOOLS_PORT, f"{name}:{TOOLS_PORT}"
    return {
        **spec.broker_properties.get(number, {}),
        "listeners": ",".join(_listening(spec, listener, port) for listener, port in listening.items()),
        "advertised.listeners": ",".join(
            f"{listener}://{address}" for listener, address in advertised.items()
        ),
        "inter.broker.listener.name": "INTERNAL",
        **({} if secured is None else secured.settings(name, FOR_CLIENTS)),
        **({"broker.rack": rack_of(number)} if spec.racks else {}),
    }


def variable(name: str) -> str:
    """The environment variable that the official image turns into this property."""
    return "KAFKA_" + name.replace("_", "__").replace("-", "___").replace(".", "_").upper()
