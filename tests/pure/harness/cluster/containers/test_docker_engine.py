from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from testcontainers.core.config import testcontainers_config

from harness.cluster.containers import docker_engine
from harness.model.errors import PrerequisiteMissing
from harness.model.host import processes

pytestmark = pytest.mark.pure


class FakeThing:
    def __init__(self, name: str, labels: dict[str, str], refusal: Exception | None = None) -> None:
        self.name = name
        self.labels = labels
        self.attrs = {"Labels": labels}
        self.refusal = refusal
        self.removed: dict[str, Any] | None = None

    def remove(self, **options: Any) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.removed = options


class FakeCollection:
    def __init__(self, *things: FakeThing) -> None:
        self.things = things

    def list(self, **options: Any) -> list[FakeThing]:
        key, _, value = options["filters"]["label"][0].partition("=")
        return [t for t in self.things if key in t.labels and (not value or t.labels[key] == value)]


def client_with(
    *containers: FakeThing, networks: tuple[FakeThing, ...] = (), volumes: tuple[FakeThing, ...] = ()
):
    return SimpleNamespace(
        containers=FakeCollection(*containers),
        networks=FakeCollection(*networks),
        volumes=FakeCollection(*volumes),
    )


def ours(cluster: str, owner: str | None) -> dict[str, str]:
    labels = {docker_engine.LABEL: "1", docker_engine.CLUSTER_LABEL: cluster}
    return labels if owner is None else {**labels, docker_engine.OWNER_LABEL: owner}


GONE = f"{processes.machine_name()}/{os.getpid()}/0"
ALIVE = processes.owner_label(os.getpid())


def test_labels_name_project_cluster_and_a_living_owner() -> None:
    labels = docker_engine.labels("blue")
    assert labels[docker_engine.LABEL] == "1"
    assert labels[docker_engine.CLUSTER_LABEL] == "blue"
    assert not processes.owner_has_ended(labels[docker_engine.OWNER_LABEL])


@pytest.mark.parametrize(
    ("label", "gone"),
    [
        (ALIVE, False),
        (GONE, True),
        (f"{processes.machine_name()}/{2**22 + 1}/5", True),
        ("another-machine/1/5", False),
        ("nonsense", False),
        (None, False),
    ],
    ids=["alive", "gone", "no-such-process", "elsewhere", "nonsense", "none"],
)
def test_an_owner_is_gone_only_if_this_machine_knows_it(label: str | None, gone: bool) -> None:
    assert processes.owner_has_ended(label) is gone


def test_a_process_of_another_container_of_the_same_host_is_never_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its number is that of no process here, or of another one."""
    namespaces = iter(["pid:[4026531836]", "pid:[4026532999]", "pid:[4026531836]", "pid:[4026532999]"])
    monkeypatch.setattr(processes.os, "readlink", lambda _: next(namespaces))
    on_the_host, in_a_container = processes.owner_label(2**22 + 1), processes.owner_label(2**22 + 1)
    assert on_the_host == f"{socket.gethostname()}/{2**22 + 1}/unknown"
    assert in_a_container.startswith(f"{socket.gethostname()}-4026532999/")
    assert not processes.owner_has_ended(in_a_container)
    assert not processes.owner_has_ended(on_the_host)


def test_default_sweep_takes_what_has_lost_its_owner_and_nothing_else() -> None:
    lost, kept = FakeThing("lost", ours("a", GONE)), FakeThing("kept", ours("b", ALIVE))
    by_hand = FakeThing("by-hand", ours("c", None))
    foreign = FakeThing("foreign", {"other": "1"})
    network = FakeThing("net", ours("a", GONE))
    swept = docker_engine.sweep(client_with(lost, kept, by_hand, foreign, networks=(network,)))
    assert swept == docker_engine.SweepResult(containers=1, networks=1)
    assert lost.removed == {"v": True, "force": True}
    assert kept.removed is None
    assert by_hand.removed is None
    assert foreign.removed is None


@pytest.mark.parametrize(
    ("things", "recorded", "in_use"),
    [
        # A child process of the harness has started a sidecar, and has ended.
        ([ours("a", ALIVE), ours("a", GONE)], {}, {"a"}),
        ([ours("a", GONE), ours("a", GONE)], {}, set()),
        # Beside a cluster of one's own there are sidecars alone: the record says who uses it.
        ([ours("a", GONE)], {"a": ALIVE}, {"a"}),
        ([ours("a", GONE)], {"a": GONE}, set()),
        # The harness has ended, and another one heals what it has left.
        ([ours("a", GONE), ours("a", ALIVE)], {"a": GONE}, {"a"}),
        ([ours("a", GONE), ours("b", ALIVE)], {"c": ALIVE}, {"b", "c"}),
        ([ours("a", None)], {}, {"a"}),
        ([ours("a", "other-host/1/2")], {}, {"a"}),
        ([], {}, set()),
    ],
)
def test_a_cluster_is_in_use_until_its_owner_has_ended(
    things: list[dict[str, str]], recorded: dict[str, str], in_use: set[str]
) -> None:
    assert docker_engine.clusters_in_use(things, recorded) == in_use


def test_a_sidecar_of_an_ended_child_stays_with_its_cluster() -> None:
    node, sidecar = FakeThing("node", ours("a", ALIVE)), FakeThing("sidecar", ours("a", GONE))
    external, lost = FakeThing("beside", ours("own", GONE)), FakeThing("lost", ours("b", GONE))
    volume = FakeThing("clock", ours("a", GONE))
    client = client_with(node, sidecar, external, lost, volumes=(volume,))
    assert docker_engine.sweep(client, recorded={"own": ALIVE}) == docker_engine.SweepResult(containers=1)
    assert [one.removed for one in (node, sidecar, external, volume)] == [None] * 4
    assert lost.removed == {"v": True, "force": True}


def test_sweep_of_one_cluster_and_of_everything_ask_no_owner() -> None:
    blue, red = FakeThing("blue", ours("blue", ALIVE)), FakeThing("red", ours("red", ALIVE))
    volume = FakeThing("v", ours("red", ALIVE))
    client = client_with(blue, red, volumes=(volume,))
    assert docker_engine.sweep(client, cluster="blue") == docker_engine.SweepResult(containers=1)
    assert red.removed is None
    assert docker_engine.sweep(client, everything=True) == docker_engine.SweepResult(containers=2, volumes=1)


def test_sweep_counts_what_vanished_meanwhile_and_names_what_stays() -> None:
    gone = FakeThing("gone", ours("a", GONE), NotFound("no such container"))
    stuck = FakeThing("stuck", ours("a", GONE), APIError("device busy"))
    swept = docker_engine.sweep(client_with(gone, stuck))
    assert swept.containers == 1
    assert swept.left == ("container stuck: device busy",)


@pytest.mark.parametrize(
    ("cause", "what"),
    [
        (FileNotFoundError(2, "No such file or directory"), "there is no Docker engine"),
        (ConnectionRefusedError(111, "Connection refused"), "there is no Docker engine"),
        (PermissionError(13, "Permission denied"), "no permission to use the Docker engine"),
        (TimeoutError("timed out"), "the Docker engine does not answer"),
    ],
)
def test_failures_to_connect_say_what_and_what_next(cause: OSError, what: str) -> None:
    # docker-py wraps the cause in the arguments of a urllib3 and a requests error.
    wrapped = DockerException("Error while fetching server API version", ConnectionError("aborted", cause))
    error = docker_engine.unreachable(wrapped, "unix:///x.sock")
    assert error.what == what
    assert error.where == "unix:///x.sock"
    assert error.next_step


def test_connect_without_a_socket(monkeypatch: pytest.MonkeyPatch, socket_folder: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket_folder}/docker.sock")
    with pytest.raises(PrerequisiteMissing, match="there is no Docker engine") as caught:
        docker_engine.connect()
    assert caught.value.found == "no such socket"


def test_connect_without_permission(monkeypatch: pytest.MonkeyPatch, socket_folder: Path) -> None:
    class Closed(socket.socket):
        # Root may open every socket, so the refusal is played.
        def connect(self, _address: Any) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "socket", Closed)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket_folder}/docker.sock")
    with pytest.raises(PrerequisiteMissing, match="no permission"):
        docker_engine.connect()


def test_connect_to_a_socket_that_stays_silent(monkeypatch: pytest.MonkeyPatch, socket_folder: Path) -> None:
    path = socket_folder / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        monkeypatch.setattr(docker_engine, "CONNECT_SECONDS", 0.2)
        with pytest.raises(PrerequisiteMissing, match="does not answer"):
            docker_engine.connect()


def client_pulling(events: Iterator[dict[str, str]]) -> Any:
    return SimpleNamespace(api=SimpleNamespace(pull=lambda *_a, **_o: events))


def test_pull_that_works_returns_nothing(caplog: pytest.LogCaptureFixture) -> None:
    events = iter([{"status": "Pulling from a/b"}, {"status": "Done"}])
    assert docker_engine.pull(client_pulling(events), "a/b:1") is None
    assert caplog.messages == ["pulling a/b:1"]


def test_pull_that_fails_midway_says_why() -> None:
    events = iter([{"status": "Pulling"}, {"error": "unexpected  EOF"}])
    assert docker_engine.pull(client_pulling(events), "a/b:1") == "unexpected EOF"


def test_pull_from_a_silent_registry_ends() -> None:
    release = threading.Event()

    def silent() -> Iterator[dict[str, str]]:
        release.wait()
        yield {}

    assert (
        docker_engine.pull(client_pulling(silent()), "a/b:1", answer=0.05)
        == "no registry answered within 0.05 s"
    )
    release.set()


@pytest.fixture
def ryuk_setting() -> Iterator[None]:
    before = testcontainers_config.ryuk_disabled
    yield
    testcontainers_config.ryuk_disabled = before


class NoImages:
    def get(self, reference: str) -> Any:
        raise ImageNotFound(reference)


@pytest.mark.usefixtures("ryuk_setting")
def test_testcontainers_goes_without_ryuk_where_it_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    testcontainers_config.ryuk_disabled = False
    monkeypatch.setattr(docker_engine, "pull", lambda *_a: "no registry")
    assert docker_engine.configure_testcontainers(SimpleNamespace(images=NoImages())) is False
    assert testcontainers_config.ryuk_disabled is True


@pytest.mark.usefixtures("ryuk_setting")
def test_testcontainers_keeps_ryuk_where_it_is_local() -> None:
    testcontainers_config.ryuk_disabled = False
    client = SimpleNamespace(images=SimpleNamespace(get=lambda _reference: object()))
    assert docker_engine.configure_testcontainers(client) is True


def test_tail_of_a_container_that_is_gone_is_empty() -> None:
    def logs(**_options: Any) -> bytes:
        raise NotFound("gone")

    assert docker_engine.tail(SimpleNamespace(logs=logs), 5) == ""
    assert docker_engine.tail(SimpleNamespace(logs=lambda **o: b"x" * o["tail"]), 5) == "xxxxx"


def test_containers_that_are_meant_to_last_are_not_passing() -> None:
    def listed(name: str, labels: dict[str, str]) -> dict[str, Any]:
        return {"Id": name, "Names": [f"/{name}"], "Command": "bash -c 'sleep 9'", "Labels": labels}

    asked: list[Any] = []
    blue = ours("blue", ALIVE)
    there = [
        listed("node", blue),
        listed("lasts", blue | {docker_engine.LASTING_LABEL: "1"}),
        listed("left", blue),
    ]
    client: Any = SimpleNamespace(
        api=SimpleNamespace(containers=lambda **options: asked.append(options) or there)
    )
    assert docker_engine.passing_containers(client, "blue", {"node"}) == ["left: bash -c 'sleep 9'"]
    assert asked == [{"filters": {"label": f"{docker_engine.CLUSTER_LABEL}=blue"}}], (
        "running ones of this cluster"
    )
