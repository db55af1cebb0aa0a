"""Scripts in network namespaces: one sidecar as long as a node runs, a new one after its restart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from harness.containers.engine import LASTING_LABEL
from harness.containers.network_sidecars import NetworkSidecars

pytestmark = pytest.mark.pure


class Gone(APIError):  # type: ignore[misc]
    """An answer of the engine with a status code."""

    def __init__(self, status: int) -> None:
        super().__init__("no", response=SimpleNamespace(status_code=status, url="", reason="", text=""))


class Sidecar:
    def __init__(self, network: str) -> None:
        self.network, self.scripts, self.removed = network, list[str](), False
        self.fails: list[int] = []

    def start(self) -> None: ...

    def exec_run(self, command: list[str]) -> tuple[int, bytes]:
        if self.fails:
            raise Gone(self.fails.pop(0))
        self.scripts.append(command[-1])
        return 3, b"out"

    def remove(self, **_: Any) -> None:
        self.removed = True


class Engine:
    """Takes what is asked of docker-py's `containers.create`."""

    def __init__(self) -> None:
        self.containers = self
        self.sidecars: list[Sidecar] = []

    def create(self, *_: Any, network_mode: str, labels: dict[str, str], **__: Any) -> Sidecar:
        assert labels == {"ours": "1", LASTING_LABEL: "1"}, "such a sidecar is no trace of a fault"
        self.sidecars.append(Sidecar(network_mode))
        return self.sidecars[-1]


class Node:
    def __init__(self, name: str) -> None:
        self.id, self.attrs = name, {"State": {"StartedAt": "1"}}

    def reload(self) -> None: ...


@pytest.fixture
def engine() -> Engine:
    return Engine()


def run(sidecars: NetworkSidecars, engine: Any, node: Node, script: str) -> Any:
    return sidecars.run(engine, "toolbox", node, {"ours": "1"}, script)


def test_a_node_has_one_as_long_as_it_runs(engine: Engine) -> None:
    sidecars, one, other = NetworkSidecars(), Node("a"), Node("b")
    assert run(sidecars, engine, one, "first").text == "out"
    assert run(sidecars, engine, one, "second").code == 3
    run(sidecars, engine, other, "third")
    assert [(each.network, each.scripts) for each in engine.sidecars] == [
        ("container:a", ["first", "second"]),
        ("container:b", ["third"]),
    ]
    # Its restart has given it another network namespace.
    one.attrs = {"State": {"StartedAt": "2"}}
    run(sidecars, engine, one, "fourth")
    assert [each.removed for each in engine.sidecars] == [True, False, False]
    assert engine.sidecars[2].scripts == ["fourth"]
    sidecars.remove()
    assert all(each.removed for each in engine.sidecars)


@pytest.mark.parametrize("status", [404, 409])
def test_one_that_has_ended_is_replaced(engine: Engine, status: int) -> None:
    sidecars, node = NetworkSidecars(), Node("a")
    run(sidecars, engine, node, "first")
    engine.sidecars[0].fails.append(status)
    run(sidecars, engine, node, "second")
    assert [each.scripts for each in engine.sidecars] == [["first"], ["second"]]


def test_another_failure_of_the_engine_is_raised(engine: Engine) -> None:
    sidecars, node = NetworkSidecars(), Node("a")
    run(sidecars, engine, node, "first")
    engine.sidecars[0].fails.append(500)
    with pytest.raises(APIError):
        run(sidecars, engine, node, "second")
    assert len(engine.sidecars) == 1
