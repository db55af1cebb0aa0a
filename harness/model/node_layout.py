"""The layout of a node that we start: ports, node ids, log dir. Faults and clusters both need it."""

from __future__ import annotations

CLIENT_PORT = 9092
"""The listener for clients, published on 127.0.0.1."""
CONTROLLER_PORT = 9093
INTERNAL_PORT = 9094
"""The listener for brokers, and for tools inside the network."""
TOOLS_PORT = 9095
"""The listener for tools inside the network if clients must use TLS or a password."""
ZOOKEEPER_PORT = 2181
BEHIND_PROXY = 10000
"""With a proxy, a listener is on 127.0.0.1 at its port plus this number, and the proxy on its port."""
PROXY_CONTROL_PORT = 9190
"""Where a node's proxy takes commands, on 127.0.0.1 of the node's network namespace."""

CLIENT = -1
"""The node id that means the clients on the harness's machine. Kafka's own node ids begin at 0 (`node.id` in
Kafka's documentation, Broker Configs); the brokers of a cluster that we start have the ids from 1 on."""
FIRST_CONTROLLER_ID = 101
"""Ids of separate controllers begin here, in a cluster that we start."""
MOST_CONTROLLERS = 5
FIRST_ZOOKEEPER_ID = 201
"""Id of the ZooKeeper server."""
FIRST_APPLICATION_ID = -1000
"""Ids of the instances of an application under test begin here: no node of any cluster has them."""


def is_application(node: int) -> bool:
    """Whether a node is an instance of the application under test."""
    return node < CLIENT


DATA_DIR = "/var/lib/kafka/data"
"""The log dir of a node."""
