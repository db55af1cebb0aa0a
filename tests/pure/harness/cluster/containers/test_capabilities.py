"""What we ask of the engine: no capability beyond those named, ports on 127.0.0.1, nothing privileged."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cluster.containers import capabilities
from harness.cluster.containers.node_volumes import create_log_dirs
from harness.cluster.live import LiveCluster
from harness.cluster.node_container import new_container
from harness.cluster.node_plan import Node, plan
from harness.model.node_layout import CLIENT_PORT
from harness.spec.cluster import ClusterSpec
from tests.bench.kafka_tools import tool_container
from tests.support.shell_stream import ShellStream

pytestmark = pytest.mark.pure

ROOT = Path(harness.__file__).resolve().parent.parent
PACKAGES = ("harness", "faults", "workloads", "checkers", "compose")
OURS = {"capabilities.NONE", "capabilities.NODE", "capabilities.NETWORK", "capabilities.FILES", "rights"}
"""`rights` is an argument of `harness.cluster.containers.exec.run_sidecar`."""
FORBIDDEN = {"privileged", "cap_add", "cap_drop", "device_requests", "ipc_mode", "userns_mode", "uts_mode"}
NET_ADMIN = "NET_ADMIN"


def calls(text: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]


def faults_of(text: str, name: str) -> list[str]:
    """What a module asks of the engine and must not."""
    found = []
    for call in calls(text):
        called = ast.unparse(call.func)
        named = {one.arg: one.value for one in call.keywords if one.arg is not None}
        spread = {ast.unparse(one.value) for one in call.keywords if one.arg is None}
        where = f"{name}:{call.lineno}"
        makes = called.endswith(("containers.create", "containers.run", "with_kwargs"))
        found += [f"{where}: {key}" for key in FORBIDDEN & set(named)]
        found += [f"{where}: {key}" for key in {"devices", "security_opt"} & set(named) if makes]
        for key in ("network_mode", "pid_mode"):
            value = named.get(key)
            if isinstance(value, ast.Constant) and value.value == "host":
                found.append(f"{where}: {key}=host")
        if makes and not spread & OURS:
            found.append(f"{where}: a container without rights of harness.cluster.containers.capabilities")
    return found


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_no_module_asks_for_more_than_rights_has() -> None:
    found = [
        fault
        for path in sources()
        if path.name != "capabilities.py"
        for fault in faults_of(path.read_text(), str(path.relative_to(ROOT)))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "client.containers.run(image, privileged=True, **capabilities.NONE)",
        "client.containers.create(image, cap_add=['SYS_ADMIN'], **capabilities.NONE)",
        "client.containers.create(image)",
        "client.containers.run(image, network_mode='host', **capabilities.NONE)",
        "client.containers.run(image, devices=['/dev/sda'], **capabilities.NONE)",
    ],
)
def test_the_search_would_find_it(text: str) -> None:
    assert faults_of(text, "x")


def test_the_rights_themselves() -> None:
    for one in (capabilities.NONE, capabilities.NETWORK, capabilities.FILES):
        assert one["cap_drop"] == ["ALL"]
        assert one["security_opt"] == ["no-new-privileges"]
        assert set(one) == {"cap_drop", "cap_add", "security_opt"}
    assert set(capabilities.NODE) == {"cap_drop", "cap_add"}
    assert capabilities.NODE["cap_drop"] == ["ALL"]
    assert capabilities.NONE["cap_add"] == []
    assert capabilities.NETWORK["cap_add"] == [NET_ADMIN, "NET_RAW"]
    assert set(capabilities.FILES["cap_add"]) < set(capabilities.NODE["cap_add"])
    assert not {NET_ADMIN, "NET_RAW", "SYS_ADMIN", "SYS_PTRACE", "MKNOD"} & set(capabilities.NODE["cap_add"])


class Engine:
    """Takes what is asked of docker-py's `containers` and `volumes`, and gives a container that has run."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.containers = self.volumes = self.api = self
        self._version = "1.41"
        self.id = "id"
        self.attrs = {"State": {"StartedAt": "now"}}

    def create(self, *_: Any, **given: Any) -> Engine:
        self.asked.append(given)
        return self

    run = create

    def start(self) -> None: ...

    def reload(self) -> None: ...

    def attach_socket(self, **_: Any) -> ShellStream:
        return ShellStream()

    def wait(self, timeout: float) -> dict[str, int]:  # noqa: ARG002
        return {"StatusCode": 0}

    def logs(self) -> bytes:
        return b""

    def remove(self, **_: Any) -> None: ...


def test_net_admin_is_for_sidecars_in_a_network_alone() -> None:
    engine = Engine()
    cluster = LiveCluster()
    cluster.name, cluster.client = "kc-test", engine  # type: ignore[assignment]
    cluster.nodes = plan(ClusterSpec(), [7001, 7002, 7003], "id")
    cluster._handles = dict.fromkeys(range(1, 4), engine)  # type: ignore[arg-type]
    cluster.in_network(1, "true")
    cluster.in_files(1, "true")
    cluster.in_cgroups(1, "true")
    cluster.end_shells()
    assert [one["cap_add"] for one in engine.asked] == [
        capabilities.NETWORK["cap_add"],
        capabilities.FILES["cap_add"],
        [],
    ]
    assert all(one["cap_drop"] == ["ALL"] for one in engine.asked)
    assert all(one["network_mode"] in ("none", "container:id") for one in engine.asked)


def test_keepers_and_clients_get_none() -> None:
    engine = Engine()
    create_log_dirs(engine, "kc-test", {1: "one"}, 16, "toolbox")  # type: ignore[arg-type]
    assert engine.asked[-1]["cap_add"] == []

    class Started:
        name = "kc-test"
        client_address = "172.20.0.1"

        class image:
            reference = "kafka"

    tool_container(engine, Started(), "java-0", 0, "true", {})  # type: ignore[arg-type]
    assert engine.asked[-1]["cap_add"] == []


@pytest.mark.parametrize("spec", [ClusterSpec(), ClusterSpec(brokers=1, combined=True, controllers=1)])
def test_every_port_is_on_127_0_0_1(spec: ClusterSpec) -> None:
    nodes = plan(spec, [7000 + number for number in range(spec.brokers)], "id")
    published = [made_of(node).ports for node in nodes]
    assert [ports for ports in published if ports] == [
        {f"{CLIENT_PORT}/tcp": ("127.0.0.1", 7000 + number)} for number in range(spec.brokers)
    ]


def made_of(node: Node) -> Any:
    return new_container(node, "kc-test", "i", node.environment, {}, {})


def test_nodes_get_the_rights_of_nodes() -> None:
    for node in plan(ClusterSpec(), [7001, 7002, 7003], "id"):
        given = made_of(node)._kwargs
        assert {key: given[key] for key in capabilities.NODE} == capabilities.NODE
        assert "privileged" not in given


def test_compose_files_publish_on_127_0_0_1_too() -> None:
    texts = [path.read_text() for path in sorted((ROOT / "compose").glob("*.yaml"))]
    published = [
        line.strip()
        for text in texts
        for line in text.splitlines()
        if ":9092" in line and line.strip().startswith("- ")
    ]
    assert texts
    assert published
    assert all("127.0.0.1:" in line for line in published), published
    assert not [text for text in texts if "privileged" in text or "cap_add" in text]
