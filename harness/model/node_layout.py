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

CLIENT = 0
"""The node id that means the clients on the harness's machine; real node ids begin at 1."""
FIRST_CONTROLLER_ID = 101
"""Ids of separate controllers begin here."""
FIRST_ZOOKEEPER_ID = 201
"""Ids of ZooKeeper servers begin here."""
FIRST_APPLICATION_ID = 301
"""Ids of the instances of an application under test begin here."""

DATA_DIR = "/var/lib/kafka/data"
"""The log dir of a node."""
