"""Scripts in network namespaces: one sidecar as long as a node runs, a new one after its restart."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from harness.cluster.containers.docker_engine import LASTING_LABEL
from harness.cluster.containers.lasting_shells import NetworkSidecars
from tests.support.shell_stream import ShellStream

pytestmark = pytest.mark.pure


class Gone(APIError):  # type: ignore[misc]
    """An answer of the engine with a status code."""

    def __init__(self, status: int) -> None:
        super().__init__("no", response=SimpleNamespace(status_code=status, url="", reason="", text=""))


class Sidecar:
    """Its shell is one of this machine."""

    def __init__(self, network: str) -> None:
        self.network, self.removed = network, False
        self.stream = ShellStream()

    def start(self) -> None: ...

    def attach_socket(self, params: dict[str, int]) -> ShellStream:
        assert params == {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        return self.stream

    def exec_run(self, command: list[str]) -> tuple[int, bytes]:
        return 7, command[-1].encode()

    def remove(self, **_: Any) -> None:
        self.removed = True


class Engine:
    """Takes what is asked of docker-py's `containers.create`."""

    def __init__(self) -> None:
        self.containers = self
        self.sidecars: list[Sidecar] = []

    def create(
        self, *_: Any, network_mode: str, labels: dict[str, str], stdin_open: bool, **__: Any
    ) -> Sidecar:
        assert stdin_open
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
    shells = [run(sidecars, engine, node, "echo $PPID").text for node in (one, one, other)]
    assert shells[0] == shells[1] != shells[2]
    assert run(sidecars, engine, one, "exit 3").code == 3
    assert [each.network for each in engine.sidecars] == ["container:a", "container:b"]
    # Its restart has given it another network namespace.
    one.attrs = {"State": {"StartedAt": "2"}}
    assert run(sidecars, engine, one, "echo $PPID").text not in shells
    assert [each.removed for each in engine.sidecars] == [True, False, False]
    sidecars.remove()
    assert all(each.removed for each in engine.sidecars)


def test_one_that_has_ended_is_replaced(engine: Engine) -> None:
    sidecars, node = NetworkSidecars(), Node("a")
    run(sidecars, engine, node, "true")
    engine.sidecars[0].stream.end()
    assert run(sidecars, engine, node, "echo second").text == "second\n"
    assert [each.removed for each in engine.sidecars] == [True, False]
    sidecars.remove()


def test_a_script_does_not_wait_for_another(engine: Engine) -> None:
    sidecars, node = NetworkSidecars(), Node("a")
    run(sidecars, engine, node, "true")
    over = threading.Event()

    def keep_busy() -> None:
        # More than once: it may itself find the shell busy, or its script be over before the next one comes.
        while not over.is_set():
            run(sidecars, engine, node, "sleep 1")

    long = threading.Thread(target=keep_busy)
    long.start()
    deadline = time.monotonic() + 60
    # The engine, which answers 7, is asked while the shell is busy.
    while run(sidecars, engine, node, "true").code != 7 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert time.monotonic() < deadline
    assert long.is_alive()
    over.set()
    long.join()
    sidecars.remove()


def test_a_failure_to_start_is_raised_and_leaves_no_container(engine: Engine, monkeypatch: Any) -> None:
    def start(_: Sidecar) -> None:
        raise Gone(500)

    monkeypatch.setattr(Sidecar, "start", start)
    with pytest.raises(APIError):
        run(NetworkSidecars(), engine, Node("a"), "true")
    assert [each.removed for each in engine.sidecars] == [True]
