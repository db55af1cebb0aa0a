"""Brokers that several open faults take down, each counted once where it is sure to be the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faults import Kill, Partition, Pause
from faults.schedules.brokers_down import Begun, most_brokers_down
from faults.targets import BrokerId, Leader, RandomBrokers
from faults.targets.target_context import BaseTarget, ClusterShape
from harness.spec.experiment_files import parse
from harness.spec.run_plan import plan_of

pytestmark = pytest.mark.pure


def on(kind: str, **target: int) -> dict[str, Any]:
    return {kind: {"target": target}}


KILL = on("kill", leader=0)
CUT = {"partition": {"from": {"leader": 0}, "to": {"followers": 0}}}
CUT_OFF = {"partition": {"from": {"leader": 0}, "to": {"any": [{"followers": 0}, "controllers"]}}}


def plan(*steps: dict[str, Any] | None, **topic: Any) -> int:
    text = {
        "name": "x-1",
        "title": "x",
        "topic": topic,
        "steps": [*steps],
        "arms": [{"name": "a"}],
    }
    return plan_of(parse(json.dumps(text), "x.yaml"), 1).most_down


def write(*faults: dict[str, Any]) -> dict[str, Any]:
    return {"write": {"name": "w", "seconds": 20, "faults": list(faults)}}


def at(fault: dict[str, Any], when: float) -> dict[str, Any]:
    return {"fault": fault, "at": when, "for": 5}


@pytest.mark.parametrize(
    ("what", "steps", "down"),
    [
        ("cut, then killed", [{"inject": CUT}, {"inject": KILL}], 1),
        (
            "with writes and waits between",
            [{"inject": CUT}, write(), {"wait": {"isr": 1}}, {"inject": KILL}],
            1,
        ),
        ("with a step behind", [{"inject": CUT}, {"inject": KILL}, {"sleep": {"seconds": 1}}], 1),
        ("cut from the controllers too: another may lead", [{"inject": CUT_OFF}, {"inject": KILL}], 2),
        ("killed, then cut: another leads", [{"inject": KILL}, {"inject": CUT}], 2),
        ("the leader changed between", [{"inject": CUT}, write(at(KILL, 1)), {"inject": KILL}], 2),
        ("of another partition", [{"inject": CUT}, {"inject": on("kill", leader=1)}], 2),
        ("at one moment", [write(at(CUT_OFF, 2), at(KILL, 2))], 1),
        ("at two moments", [write(at(CUT_OFF, 2), at(KILL, 3))], 2),
        ("one after the other", [{"inject": CUT}, {"heal": None}, {"inject": KILL}], 1),
    ],
)
def test_a_plan_counts_a_broker_once(what: str, steps: list[dict[str, Any]], down: int) -> None:
    assert plan(*steps, {"write": {"name": "end", "seconds": 1}}, partitions=2) == down, what


def process(kind: type[Kill | Pause], moment: int, target: BaseTarget) -> Begun:
    return Begun(kind.model_validate({"target": target}), moment, steady=True)


LEADER, RANDOM, FIRST, SECOND = (
    Leader(leader=0),
    RandomBrokers(random=1),
    BrokerId(broker=1),
    BrokerId(broker=2),
)


@pytest.mark.parametrize(
    ("what", "begun", "down"),
    [
        ("a killed leader is replaced", [process(Kill, 0, LEADER), process(Pause, 0, LEADER)], 2),
        ("random ones", [process(Kill, 0, RANDOM), process(Pause, 0, RANDOM)], 2),
        ("one by its number", [process(Kill, 0, SECOND), process(Pause, 1, SECOND)], 1),
        ("two by their numbers", [process(Kill, 0, FIRST), process(Pause, 1, SECOND)], 2),
        ("one by its number, and a leader", [process(Kill, 0, FIRST), process(Kill, 0, LEADER)], 2),
    ],
)
def test_processes_that_two_faults_end(what: str, begun: list[Begun], down: int) -> None:
    shape = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
    assert most_brokers_down(begun, shape) == down, what


def test_of_two_sides_of_one_size_it_is_not_sure_which_is_down() -> None:
    shape = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=2)
    cut = Partition.model_validate({"from": {"leader": 0}, "to": {"followers": 0}})
    kill = Kill(target=Leader(leader=0))
    assert most_brokers_down([Begun(cut, 0), Begun(kill, 0)], shape) == 2
    assert most_brokers_down([], shape) == 0
