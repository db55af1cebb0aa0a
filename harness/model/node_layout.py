"""Where things are in a node of ours: ports, node ids, the log dir. Faults and clusters both need them."""

from __future__ import annotations

CLIENT_PORT = 9092
"""The listener of clients, which is published on 127.0.0.1."""
CONTROLLER_PORT = 9093
INTERNAL_PORT = 9094
"""The listener between brokers, and of tools inside the network."""
TOOLS_PORT = 9095
"""The listener of tools inside the network where clients must use TLS or a password."""
ZOOKEEPER_PORT = 2181

CLIENT = 0
"""Stands for the clients on the harness's machine among node ids, which begin at 1."""
FIRST_CONTROLLER_ID = 101
"""Separate controllers have this id and those above."""
FIRST_ZOOKEEPER_ID = 201
"""ZooKeeper servers have this id and those above."""

DATA_DIR = "/var/lib/kafka/data"
"""The log dir of a node."""
