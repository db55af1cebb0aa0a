"""Faults as resources of Chaos Mesh: fields that its definitions have, and lines that a shell can run."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from faults import Command
from faults.shared.fault_spec import InjectionContext
from harness.cli.app import app
from harness.interop import chaos_mesh
from harness.interop.chaos_mesh import PodNaming, command_of, resource_of, text_of, to_chaos_mesh
from harness.model.errors import BadInput
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import load, parse
from harness.spec.fault_index import fault_specs
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster

pytestmark = pytest.mark.pure

PLACE = PodNaming("kafka", "my-kafka-{broker}")


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


TEXT: dict[str, Any] = {"type": "string"}
SELECTOR = _object(
    ["pods"],
    namespaces={"type": "array", "items": TEXT},
    pods={"type": "object", "additionalProperties": {"type": "array", "items": TEXT, "minItems": 1}},
)
MODE = {"enum": ["one", "all", "fixed", "fixed-percent", "random-max-percent"]}
SIDE = _object(["mode", "selector"], mode=MODE, selector=SELECTOR)
SHARE = {
    name: _object([name, "correlation"], **{name: TEXT, "correlation": TEXT})
    for name in ("loss", "corrupt", "duplicate", "reorder")
}
SHARE["reorder"]["properties"]["gap"] = {"type": "integer"}
SHARE["reorder"]["required"].append("gap")
FIELDS = {
    "PodChaos": _object(
        ["action", "mode", "selector"],
        action={"enum": ["pod-kill", "pod-failure", "container-kill"]},
        mode=MODE,
        selector=SELECTOR,
        gracePeriod={"type": "integer", "minimum": 0},
        duration=TEXT,
    ),
    "NetworkChaos": _object(
        ["action", "mode", "selector"],
        action={"enum": ["netem", "delay", "loss", "duplicate", "corrupt", "partition", "bandwidth"]},
        mode=MODE,
        selector=SELECTOR,
        target=SIDE,
        direction={"enum": ["to", "from", "both"]},
        duration=TEXT,
        loss=SHARE["loss"],
        corrupt=SHARE["corrupt"],
        duplicate=SHARE["duplicate"],
        delay=_object(["latency"], latency=TEXT, jitter=TEXT, correlation=TEXT, reorder=SHARE["reorder"]),
        bandwidth=_object(
            ["rate", "limit", "buffer"],
            rate={"type": "string", "pattern": r"^\d+[kmgt]?bps$"},
            limit={"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
            buffer={"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
        ),
    ),
}
"""What the published CustomResourceDefinitions of chaos-mesh.org/v1alpha1 have, as far as it is used."""

FAULTS = [
    "{kill: {target: {leader: 0}}}",
    "{stop: {target: {broker: 2}}}",
    "{partition: {from: {leader: 0}, to: {followers: 0}}}",
    "{partition: {from: {broker: 1}, to: {not: {broker: 1}}, lost: to_from}}",
    "{loss: {target: {leader: 0}, percent: 12.5}}",
    "{loss: {target: {leader: 0}, to: {followers: 0}, percent: 30, direction: in}}",
    "{latency: {target: {leader: 0}, delay_ms: 100}}",
    "{jitter: {target: {leader: 0}, delay_ms: 100, spread_ms: 20}}",
    "{reorder: {target: {leader: 0}, percent: 25, delay_ms: 50}}",
    "{corrupt_packets: {target: {leader: 0}, percent: 1}}",
    "{duplicate_packets: {target: {leader: 0}, percent: 5}}",
    "{bandwidth: {target: {leader: 0}, rate: 2mbit}}",
]


def experiment(fault: str) -> Experiment:
    return parse(
        f"""
name: mine
title: Mine
steps:
  - write: {{name: w, seconds: 9, faults: [{{fault: {fault}, at: 1, for: 2}}]}}
  - inject: {{fault: {fault}, name: again}}
  - heal: {{}}
arms: [{{name: one}}]
""",
        "mine.yaml",
    )


def first_fault(data: dict[str, Any]) -> Any:
    return data["steps"][0]["write"]["faults"][0]["fault"]


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubectl that writes down how it was called, and what it was given."""
    log = tmp_path / "log"
    program = tmp_path / "kubectl"
    program.write_text(f'#!/bin/sh\necho "$@" >>{log}\n[ "$1" = apply ] && cat >{tmp_path}/applied\nexit 0\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_applied_has_the_fields_of_the_definition(fault: str, kubectl: Path) -> None:
    again = parse(text_of(to_chaos_mesh(experiment(fault), PLACE)), "converted.yaml")
    inject = again.steps[1].action
    command = inject.fault  # type: ignore[union-attr]
    assert isinstance(command, Command)
    context = InjectionContext(FakeCluster([quiet()]), "t", 1.0, "kafka-chaos-1f-clock_skew-1")  # type: ignore[arg-type]
    injection = command.aim(context)
    injection.apply(context)
    assert injection.verify(context).seen
    injection.undo(context)
    applied = yaml.safe_load((kubectl / "applied").read_text())
    assert applied["apiVersion"] == "chaos-mesh.org/v1alpha1"
    assert applied["metadata"] == {"name": "kafka-chaos-1f-clock-skew-1", "namespace": "kafka"}
    jsonschema.validate(applied["spec"], FIELDS[applied["kind"]])
    pods = applied["spec"]["selector"]["pods"]["kafka"]
    assert pods == [f"my-kafka-{number}" for number in injection.nodes]
    if injection.others:
        others = applied["spec"]["target"]["selector"]["pods"]["kafka"]
        assert others == [f"my-kafka-{number}" for number in injection.others]
    apply, wait, delete = (kubectl / "log").read_text().splitlines()
    one = f"{applied['kind'].lower()}.chaos-mesh.org kafka-chaos-1f-clock-skew-1"
    assert apply == "apply -f -"
    assert wait.startswith("wait -n kafka --for=condition=AllInjected ")
    assert wait.endswith(one)
    assert delete.startswith("delete -n kafka --ignore-not-found ")
    assert delete.endswith(one)


def test_directions_are_those_of_ours() -> None:
    spec = resource_of(experiment(FAULTS[3]).steps[1].action.fault, PLACE)[1]  # type: ignore[union-attr]
    assert (spec["action"], spec["direction"]) == ("partition", "from")
    spec = resource_of(experiment(FAULTS[4]).steps[1].action.fault, PLACE)[1]  # type: ignore[union-attr]
    assert spec["direction"] == "to"
    assert spec["loss"] == {"loss": "12.5", "correlation": "0"}


def test_all_else_is_as_it_was() -> None:
    given = load("kill-leader")
    data = yaml.safe_load(text_of(to_chaos_mesh(given, PLACE)))
    assert "cluster" not in data
    assert [arm["name"] for arm in data["arms"]] == [arm.name for arm in given.arms]
    entry = data["steps"][0]["write"]["faults"][0]
    assert list(entry["fault"]) == ["command"]
    assert entry["fault"]["command"]["target"] == {"leader": 0}
    assert entry["fault"]["command"]["stops"] is True
    assert (entry["at"], entry["for"]) == (2, 5)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("{pause: {target: {leader: 0}}}", "'pause' has no equivalent"),
        ("{partition: {from: {leader: 0}, to: client}}", "not a pod"),
    ],
)
def test_what_has_no_equal_is_refused_with_its_place(fault: str, told: str) -> None:
    with pytest.raises(BadInput, match=told) as refused:
        to_chaos_mesh(experiment(fault), PLACE)
    assert "mine.steps[0].write.faults[0].fault" in str(refused.value)


@pytest.mark.parametrize(
    "naming",
    [PodNaming("kafka", "kafka"), PodNaming("a b", "k-{broker}"), PodNaming("kafka", "$(rm)-{broker}")],
)
def test_no_name_of_kubernetes_gets_into_a_line(naming: PodNaming) -> None:
    with pytest.raises(BadInput):
        to_chaos_mesh(experiment(FAULTS[0]), naming)


def test_every_equal_is_tried() -> None:
    tried = {next(iter(yaml.safe_load(fault))) for fault in FAULTS}
    assert tried == {kind.name() for kind in chaos_mesh._EQUIVALENTS}
    assert set(fault_specs()) >= tried


def test_a_command_stays_a_command() -> None:
    given = {"inject": "a", "verify": "b", "heal": "c"}
    made = command_of(Command.model_validate(given), PLACE, "here")
    assert {key: made[key] for key in given} == given


def test_from_the_command_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["chaos-mesh", "kill-leader", "--namespace", "n", "--pod", "k-{broker}"])
    assert done.exit_code == 0, done.output
    (tmp_path / "mesh.yaml").write_text(done.output)
    assert load(str(tmp_path / "mesh.yaml")).name == "kill-leader"
    assert "namespace" in json.dumps(first_fault(yaml.safe_load(done.output)))
