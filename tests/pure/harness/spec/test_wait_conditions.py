"""What wait steps wait for: told from what single brokers say, and what they say instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import ValidationError

from harness.model.broker_views import BrokerView, PartitionState, TopologyView
from harness.model.errors import BadInput
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse
from harness.spec.problems import faults_before
from harness.spec.run_plan import plan_of
from harness.spec.steps import Wait
from harness.spec.wait_conditions import Checkpoint, HighWatermark, Leads, LogEnd, Logged, Members

pytestmark = pytest.mark.pure

LEADER, FOLLOWER, EVERY = {"broker": 1}, {"broker": 2}, {"nodes": [1, 2]}


def state(
    broker: int, end: int, *, leader: int = 1, epoch: int = 0, isr: tuple[int, ...] = (1, 2)
) -> BrokerView:
    partition = PartitionState(
        topic="t",
        partition=0,
        leader=leader,
        leader_epoch=epoch,
        replicas=(1, 2),
        isr=isr,
        log_start_offset=0,
        log_end_offset=end,
        high_watermark=None,
    )
    return BrokerView(broker=broker, answered=True, brokers=(1, 2), partitions=(partition,))


@dataclass
class Seen:
    """What a look shows."""

    views: tuple[BrokerView, ...] = (state(1, 20), state(2, 10))
    marks: dict[int, int | None] = field(default_factory=lambda: {1: 20, 2: 10})
    files: dict[tuple[int, str], int] = field(default_factory=dict)
    logs: dict[int, str] = field(default_factory=dict)

    def view(self) -> TopologyView:
        return TopologyView(at_ns=0, views=self.views)

    def nodes(self, target: Any) -> tuple[int, ...]:
        said = target.model_dump(by_alias=True)
        return tuple(said.get("nodes", [said.get("broker")]))

    def high_watermark(self, broker: int, partition: int) -> int | None:
        return self.marks.get(broker) if partition == 0 else None

    def checkpoint(self, broker: int, file: str, partition: int) -> int | None:
        return self.files.get((broker, file)) if partition == 0 else None

    def log(self, broker: int) -> str:
        return self.logs.get(broker, "")


@pytest.mark.parametrize(
    ("condition", "missing"),
    [
        (LogEnd(of=LEADER, exactly=20), None),
        (LogEnd(of=LEADER, at_least=20), None),
        (LogEnd(of=LEADER, at_least=21), "log end offset of partition 0 by broker: 1: 20"),
        (LogEnd(of=LEADER, exactly=19), "1: 20"),
        (LogEnd(of=EVERY, at_least=11), "1: 20, 2: 10"),
        (LogEnd(of=EVERY, at_least=10), None),
        (LogEnd(of={"broker": 3}, at_least=0), "3: -"),
        (LogEnd(of=LEADER, at_least=0, partition=1), "1: -"),
        (HighWatermark(of=FOLLOWER, exactly=10), None),
        (HighWatermark(of=FOLLOWER, at_least=11), "high watermark of partition 0 by broker: 2: 10"),
        (HighWatermark(of={"broker": 3}, at_least=0), "3: -"),
        (Members.model_validate({"is": EVERY}), None),
        (Members.model_validate({"is": LEADER}), "ISR [1, 2]"),
        (Leads.model_validate({"is": LEADER}), None),
        (Leads.model_validate({"is": EVERY}), None),
        (Leads.model_validate({"is": FOLLOWER}), "leader of partition 0 by broker: 1: 1, 2: 1"),
    ],
)
def test_what_brokers_say(condition: Any, missing: str | None) -> None:
    said = condition.missing(Seen())
    assert said is None if missing is None else missing in said, said


def test_an_old_leader_is_not_believed() -> None:
    old, new = state(1, 20), state(2, 10, leader=2, epoch=1, isr=(2,))
    assert Members.model_validate({"is": FOLLOWER}).missing(Seen(views=(old, new))) is None
    assert Members.model_validate({"is": EVERY}).missing(Seen(views=(old, new))) is not None
    # Both say so of themselves; only one is right, which the ISR and the epoch tell.
    assert Leads.model_validate({"is": FOLLOWER}).missing(Seen(views=(old, new))) is None


def test_nobody_leads() -> None:
    views = (state(1, 20, leader=-1), BrokerView(broker=2, answered=False))
    assert "no leader that answers" in str(Members.model_validate({"is": LEADER}).missing(Seen(views=views)))
    assert Leads.model_validate({"is": LEADER}).missing(Seen(views=views)) is not None


def test_checkpoints_and_logs() -> None:
    seen = Seen(
        files={(2, "replication-offset-checkpoint"): 10}, logs={2: "Truncating partition t-0 to offset 10"}
    )
    file = "replication-offset-checkpoint"
    assert Checkpoint(of=FOLLOWER, file=file, exactly=10).missing(seen) is None
    assert "2: 10" in str(Checkpoint(of=FOLLOWER, file=file, exactly=20).missing(seen))
    assert "1: -" in str(Checkpoint(of=LEADER, file=file, exactly=10).missing(seen))
    assert Logged(of=FOLLOWER, text="Truncating partition").missing(seen) is None
    assert "broker 1" in str(Logged(of=EVERY, text="Truncating partition").missing(seen))


@pytest.mark.parametrize(
    "wait",
    [
        {},
        {"replicated": False},
        {"isr": 0},
        {"replicated": True, "isr": 2},
        {"isr": 2, "leader": {"is": LEADER}},
        {"log_end": {"of": LEADER}},
        {"log_end": {"of": LEADER, "at_least": 1, "exactly": 1}},
        {"log_end": {"of": LEADER, "at_least": -1}},
        {"checkpoint": {"of": LEADER, "file": "no-such-file", "exactly": 1}},
        {"logged": {"of": LEADER, "text": ""}},
    ],
)
def test_waits_that_make_no_sense(wait: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Wait.model_validate(wait)


TEXT = """
name: steps
title: t
cluster: {brokers: 3}
topic: {assignment: [[2, 1, 3]]}
arms: [{name: a}]
steps:
- write: {name: w, records: 5}
- wait: {high_watermark: {of: {broker: 1}, exactly: 5}, within: 9}
- inject: {partition: {from: {broker: 2}, to: {nodes: [1, 3]}}, name: cut}
- inject: {kill: {target: {broker: 2}}, name: death}
- wait: {leader: {is: {broker: 1}}}
- heal: {only: [death]}
- heal: {only: [cut]}
"""


def test_step_by_step_in_a_file() -> None:
    experiment = parse(TEXT, "steps.yaml")
    assert (experiment.topic.partitions, experiment.topic.replication_factor) == (1, 3)
    lines = [step.what for step in plan_of(experiment, 1).steps]
    assert lines[1] == "wait until a high watermark of exactly 5 in partition 0 on broker: 1, 9 s at most"
    assert lines[4] == "wait until broker: 1 leads partition 0, 30 s at most"
    assert lines[5:] == ["heal death", "heal cut"]
    # What is written can be read again: run folders keep it.
    assert Experiment.model_validate_json(experiment.model_dump_json(by_alias=True)) == experiment
    assert list(faults_before(experiment.steps, 6)) == ["steps[2].inject"]
    assert list(faults_before(experiment.steps, 7)) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("only: [cut]", "only: [cutt]", "no fault called 'cutt' is open at this step"),
        ("only: [cut]", "only: [death]", "no fault called 'death' is open at this step"),
        ("name: death", "name: cut", "two faults are named 'cut'"),
        ("[[2, 1, 3]]", "[[2, 1, 1]]", "expected 3 different brokers"),
        ("[[2, 1, 3]]", "[[2, 1, 3], [1, 2]]", "assignment[1] is [1, 2]"),
        ("[[2, 1, 3]]", "[[2, 1, 7]]", "broker(s) 7; the cluster has brokers 1 to 3"),
        ("[[2, 1, 3]]", "[[2, 1, 3]], partitions: 2", "`partitions` says 2"),
    ],
)
def test_mistakes_are_told(old: str, new: str, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(TEXT.replace(old, new), "steps.yaml")
    assert told in str(caught.value)
