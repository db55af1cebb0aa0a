"""A node's container is replaced by one of another image: what stays, also when the engine refuses."""

from __future__ import annotations

from typing import Any, cast

import pytest
from docker.errors import APIError, NotFound
from docker.models.containers import Container

from harness.cluster.node_plan import Node
from harness.cluster.node_replacement import replacement

pytestmark = pytest.mark.pure

NODE = Node(1, "broker-1", broker=True, host_port=19092)


class Image:
    labels = {"org.opencontainers.image.version": "3.9.2", "same": "of the image"}


class Engine:
    """Containers by name; creates them, unless it refuses."""

    def __init__(self, names: set[str], *, refuses: bool = False) -> None:
        self.names, self.refuses = names, refuses
        self.created: list[tuple[str, dict[str, Any]]] = []
        self.containers = self

    def get(self, name: str) -> str:
        if name not in self.names:
            raise NotFound("no such container")
        return name

    def create(self, image: str, **how: Any) -> str:
        if self.refuses:
            raise APIError("no room")
        self.created.append((image, how))
        return "new"


class Old:
    """The stopped container of the node."""

    id, image = "0ld", Image()
    labels = {**Image.labels, "kafka-chaos": "1", "org.testcontainers.session-id": "s"}

    def __init__(self, engine: Engine, name: str) -> None:
        self.client, self.name = engine, name

    def rename(self, name: str) -> None:
        self.client.names.symmetric_difference_update({self.name, name})
        self.name = name


def replaced(old: Old, node: Node = NODE) -> Any:
    return replacement(cast(Container, old), node, {"A": "b"}, "kafka:4.1.1", {"net": "address"})


def test_name_address_port_labels_and_volumes_stay() -> None:
    engine = Engine({"kc-broker-1", "kc-broker-1-before-1"})
    old = Old(engine, "kc-broker-1")
    assert replaced(old) == "new"
    assert old.name == "kc-broker-1-before-2"
    ((image, how),) = engine.created
    assert (image, how["name"], how["hostname"]) == ("kafka:4.1.1", "kc-broker-1", "broker-1")
    assert how["labels"] == {"kafka-chaos": "1", "org.testcontainers.session-id": "s"}
    assert how["volumes_from"] == ["0ld"]
    assert how["ports"] == {"9092/tcp": ("127.0.0.1", 19092)}
    assert (how["network"], how["networking_config"]) == ("net", {"net": "address"})
    assert (how["environment"], how["command"]) == ({"A": "b"}, None)


def test_a_controller_publishes_no_port() -> None:
    engine = Engine({"kc-controller-101"})
    node = Node(101, "controller-101", controller=True, command=("bash", "-c", "x"))
    replaced(Old(engine, "kc-controller-101"), node)
    assert engine.created[0][1]["ports"] == {}
    assert engine.created[0][1]["command"] == ["bash", "-c", "x"]


def test_a_refusal_leaves_the_old_one_with_its_name() -> None:
    engine = Engine({"kc-broker-1"}, refuses=True)
    old = Old(engine, "kc-broker-1")
    with pytest.raises(APIError):
        replaced(old)
    assert old.name == "kc-broker-1"
