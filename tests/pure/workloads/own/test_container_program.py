"""A program in a container: what the engine is asked for, and what is known of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from harness.cluster.containers import docker_engine
from harness.model.errors import BadInput
from harness.model.host.process_group import ProcessCommand
from workloads.own.container_program import ContainerProgram, ProgramImage

pytestmark = pytest.mark.pure

START, END = "2026-01-01T10:00:00.5Z", "2026-01-01T10:00:07Z"
STARTED_NS = 1767261600_500000000


class Container:
    """A container that ends when it is told to, or only when it is killed."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.attrs: dict[str, Any] = {"State": {"Running": False, "StartedAt": "0001-01-01T00:00:00Z"}}
        self.signals: list[str] = []
        self._stubborn = stubborn

    def start(self) -> None:
        self.attrs = {"State": {"Running": True, "StartedAt": START, "ExitCode": 0}}

    def reload(self) -> None: ...

    def kill(self, signal: str) -> None:
        self.signals.append(signal)
        if signal == "SIGKILL" or not self._stubborn:
            code = 137 if signal == "SIGKILL" else 0
            self.attrs = {
                "State": {"Running": False, "StartedAt": START, "FinishedAt": END, "ExitCode": code}
            }

    def logs(self, tail: int | None = None) -> bytes:  # noqa: ARG002
        return b"first\nlast\n"


class Containers:
    """Of an engine that has one container to give, or refuses."""

    def __init__(self, container: Container | None) -> None:
        self._container = container
        self.asked: dict[str, Any] = {}

    def create(self, image: str, command: list[str], **asked: Any) -> Container:
        self.asked = {"image": image, "command": command, **asked}
        if self._container is None:
            raise APIError("no such image")
        return self._container


def program(folder: Path, container: Container | None) -> tuple[ContainerProgram, Containers]:
    containers = Containers(container)
    client = type("Client", (), {"containers": containers})()
    cluster: Any = type("Cluster", (), {"name": "kc-1", "client": client})()
    image = ProgramImage("node:22", written=(folder / "journal",), read=(folder / "program",))
    command = ProcessCommand(("node", "shop.js"), {"KAFKA_CHAOS_TOPIC": "orders"})
    return ContainerProgram("program", command, image, folder / "program.log", cluster), containers


def test_it_has_our_user_no_rights_the_network_of_the_cluster_and_only_these_folders(tmp_path: Path) -> None:
    one, containers = program(tmp_path, Container())
    assert (one.is_running(), one.started_ns(), one.exit_code()) == (False, 0, None)
    one.start()
    asked = containers.asked
    assert (asked["image"], asked["command"], asked["network"]) == ("node:22", ["node", "shop.js"], "kc-1")
    assert asked["cap_drop"] == ["ALL"]
    assert asked["user"] == f"{os.getuid()}:{os.getgid()}"
    assert asked["environment"] == {"HOME": "/tmp", "KAFKA_CHAOS_TOPIC": "orders"}
    assert asked["volumes"] == {
        str(tmp_path / "program"): {"bind": str(tmp_path / "program"), "mode": "ro"},
        str(tmp_path / "journal"): {"bind": str(tmp_path / "journal"), "mode": "rw"},
    }
    assert asked["labels"][docker_engine.APPLICATION_LABEL] == "1", "it is removed with the run's others"
    assert (one.is_running(), one.started_ns(), one.last_lines()) == (
        True,
        STARTED_NS,
        "first\n            last",
    )


@pytest.mark.parametrize(
    ("stubborn", "signals", "code"), [(False, ["SIGTERM"], 0), (True, ["SIGTERM", "SIGKILL"], 137)]
)
def test_it_is_asked_to_end_once_and_killed_if_it_does_not(
    tmp_path: Path, stubborn: bool, signals: list[str], code: int
) -> None:
    container = Container(stubborn=stubborn)
    one, _ = program(tmp_path, container)
    one.start()
    one.terminate()
    one.stop(0.1)
    one.remove()
    assert container.signals == signals
    assert (one.exit_code(), one.ended_ns()) == (code, STARTED_NS + 6_500_000_000)
    assert (tmp_path / "program.log").read_text() == "first\nlast\n"


def test_one_whose_container_is_gone_is_known_by_what_was_seen_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = Container()
    one, _ = program(tmp_path, container)
    one.start()
    container.kill("SIGTERM")

    def gone() -> None:
        raise NotFound("no such container")

    monkeypatch.setattr(container, "reload", gone)
    assert (one.is_running(), one.exit_code(), one.started_ns()) == (False, 0, STARTED_NS)


def test_an_engine_that_refuses_is_told(tmp_path: Path) -> None:
    one, _ = program(tmp_path, None)
    with pytest.raises(BadInput, match="the program's container cannot be started") as refused:
        one.start()
    assert "node:22: node shop.js" in str(refused.value)
    assert "no such image" in str(refused.value)
