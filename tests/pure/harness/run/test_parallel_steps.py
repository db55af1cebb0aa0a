"""Arms of one run: what they may contain, and what steps do to each of their topics."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from faults.shared.fault_spec import InjectionContext
from harness.cluster.managed import ManagedCluster
from harness.model.broker_views import BrokerView, PartitionState, TopologyView
from harness.model.errors import ClusterError
from harness.model.progress import LOGGER
from harness.run.faults.ledger import FaultLedger
from harness.run.steps.step_context import StepContext
from harness.run.steps.step_executor import carry_out_steps
from harness.spec.experiment import Arm, Experiment
from tests.support.fake_cluster import FakeCluster
from tests.support.journal_rows import Rows
from workloads.records.producer.reports import Progress

pytestmark = pytest.mark.pure


ELECT = {"fault": {"elect": {}}, "at": 1, "for": 1}


def experiment(**changes: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "both",
            "title": "t",
            "together": True,
            "topic": {"assignment": [[1, 2]]},
            "steps": [
                {"inject": {"elect": {"election": "preferred"}, "name": "moved"}},
                {"wait": {"leader": {"is": {"broker": 1}}, "within": 1}},
                {"write": {"name": "w", "records": 5}},
                {"wait": {"log_end": {"of": {"broker": 1}, "exactly": 5}, "within": 0.3}},
            ],
            "arms": [{"name": "a"}, {"name": "b", "topic": {"message.format.version": "0.10.2"}}],
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"workload": {"transactions": {"records": 5}}}, "its transactional.id cannot be shared"),
        ({"readers": [{"name": "r", "group": "g"}]}, "its consumer group cannot be shared"),
        ({"workload": {"client": "java"}}, "its Java client cannot be shared"),
        (
            {"steps": [{"write": {"name": "w", "seconds": 9, "faults": [ELECT]}}]},
            "faults on the topic are possible in inject steps only",
        ),
        ({"arms": [{"name": "a"}, {"name": "b", "without_faults": True}]}, "all arms get the same faults"),
    ],
)
def test_what_cannot_go_together_is_refused_and_alone_it_may_be(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        experiment(**changes)
    experiment(**changes, together=False)


def test_readers_without_a_group_and_faults_on_nodes_may_go_together() -> None:
    kill = {"fault": {"kill": {"target": {"broker": 1}}}, "at": 1, "for": 1}
    experiment(readers=[{"name": "r"}], steps=[{"write": {"name": "w", "seconds": 9, "faults": [kill]}}])


class ElectingCluster(FakeCluster):
    """A cluster with topics of one partition on brokers 1 and 2, led by 2 until 1 is elected."""

    def __init__(self) -> None:
        super().__init__(views=[], broker_ids=(1, 2))
        self.led: dict[str, tuple[int, int]] = {}
        self.ends: dict[str, int] = {}
        self.elected: list[str] = []

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:  # noqa: ARG002
        (topic,) = topics
        leader, epoch = self.led.get(topic, (2, 1))
        state = PartitionState(topic, 0, leader, epoch, (1, 2), (1, 2), 0, self.ends.get(topic, 0), None)
        return TopologyView(
            time.time_ns(), tuple(BrokerView(one, True, None, (1, 2), (state,)) for one in (1, 2))
        )

    def elect(self, topic: str, partitions: Iterable[int], *, unclean: bool) -> dict[int, str | None]:
        assert not unclean
        self.elected.append(topic)
        self.led[topic] = (1, 2)
        return dict.fromkeys(partitions)


@dataclass
class Writer:
    """Has all its records in the log at once, or a given number of them."""

    cluster_state: ElectingCluster
    topic: str
    arrive: int = 5
    started: list[int] = field(default_factory=list)

    def start(self, step: int, *, records: int | None = None, **_: Any) -> None:
        self.started.append(step)
        self.cluster_state.ends[self.topic] = min(records or 0, self.arrive)

    def finish(self, deadline: float | None = None) -> bool:  # noqa: ARG002
        return True

    def progress(self) -> Progress:
        return Progress(sent=5, acked=5)


class EndlessWriter(Writer):
    """Writes until it is stopped."""

    stopped: float | None = None

    def start(self, step: int, *, seconds: float | None = None, **_: Any) -> None:
        assert seconds is None
        self.started.append(step)

    def stop(self) -> None:
        self.stopped = time.monotonic()

    def finish(self, deadline: float | None = None) -> bool:  # noqa: ARG002
        return self.stopped is not None


@dataclass
class PlannedArm:
    topic: str
    producers: Any
    answers: Rows = field(default_factory=Rows)
    arm: Arm = field(default_factory=lambda: Arm(name="planned"))


@dataclass
class ParallelSteps:
    cluster_state: ElectingCluster
    arms: list[PlannedArm]
    events: Rows
    stepping: StepContext


@pytest.fixture
def parallel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ParallelSteps]:
    monkeypatch.setenv("KAFKA_CHAOS_STATE", str(tmp_path))
    cluster_state, events = ElectingCluster(), Rows()
    cluster = cast(ManagedCluster, cluster_state)
    arms = [PlannedArm(name, Writer(cluster_state, name)) for name in ("first", "second")]
    ledger = FaultLedger(lambda name: InjectionContext(cluster, "first", 1.0, name), events, "kc-1")
    stepping = StepContext(
        cluster, experiment(), arms, ledger, 1.0, lambda _: None, view=lambda: None, seed=1
    )
    yield ParallelSteps(cluster_state, arms, events, stepping)
    ledger.heal_all()


def test_a_fault_on_partitions_is_done_to_every_topic_and_all_are_written_to(parallel: ParallelSteps) -> None:
    carry_out_steps(parallel.stepping)
    assert parallel.cluster_state.elected == ["first", "second"]
    verified = [row["fault"] for row in parallel.events.rows if row["phase"] == "verified"]
    assert verified == ["elect-1", "elect-2"]
    assert [arm.producers.started for arm in parallel.arms] == [[2], [2]]


def test_an_arm_without_faults_takes_every_other_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_STATE", str(tmp_path))
    elect = {"elect": {"election": "preferred"}, "name": "moved"}
    kill = {"fault": {"kill": {"target": {"broker": 1}}}, "at": 0.01, "for": 0.1}
    steps = [
        {"inject": elect},
        {"write": {"name": "w", "records": 5, "faults": [kill]}},
        {"heal": {"only": ["moved"]}},
        {"heal": {}},
        {"write": {"name": "v", "records": 5}},
    ]
    cluster_state, events = ElectingCluster(), Rows()
    cluster = cast(ManagedCluster, cluster_state)
    arm = PlannedArm("first", Writer(cluster_state, "first"), arm=Arm(name="control", without_faults=True))
    ledger = FaultLedger(lambda name: InjectionContext(cluster, "first", 1.0, name), events, "kc-1")
    made = experiment(together=False, steps=steps)
    stepping = StepContext(cluster, made, [arm], ledger, 1.0, lambda _: None, view=lambda: None, seed=1)
    carry_out_steps(stepping)
    assert (arm.producers.started, events.rows, stepping.problems) == ([1, 4], [], [])


@pytest.mark.parametrize(("more", "lasting", "least", "most"), [(9, 0.6, 0.7, 9), (0.3, 5, 0.5, 4)])
def test_writing_goes_on_until_the_faults_have_ended_and_no_longer_than_allowed(
    more: float, lasting: float, least: float, most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_STATE", str(tmp_path))
    elect = {"fault": {"elect": {"election": "preferred"}}, "at": 0.1, "for": lasting}
    write = {"name": "w", "seconds": 0.2, "until_faults_end": more, "faults": [elect]}
    cluster_state, events = ElectingCluster(), Rows()
    cluster = cast(ManagedCluster, cluster_state)
    writer = EndlessWriter(cluster_state, "first")
    ledger = FaultLedger(lambda name: InjectionContext(cluster, "first", 1.0, name), events, "kc-1")
    made = experiment(together=False, steps=[{"write": write}])
    arm = PlannedArm("first", writer)
    stepping = StepContext(cluster, made, [arm], ledger, 1.0, lambda _: None, view=lambda: None, seed=1)
    begun = time.monotonic()
    carry_out_steps(stepping)
    assert writer.stopped is not None
    assert least <= writer.stopped - begun < most
    assert events.rows[-1]["phase"] == "healed"


@pytest.mark.parametrize("late", [0, 1])
def test_a_state_must_be_seen_of_every_topic(parallel: ParallelSteps, late: int) -> None:
    parallel.arms[late].producers.arrive = 4
    with pytest.raises(ClusterError, match="log end offset"):
        carry_out_steps(parallel.stepping)
    assert parallel.cluster_state.ends[parallel.arms[1 - late].topic] == 5


def test_progress_says_which_step_of_how_many_and_what_is_left(
    parallel: ParallelSteps, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, LOGGER.name):
        carry_out_steps(parallel.stepping)
    lines = [record.getMessage() for record in caplog.records if record.name == LOGGER.name]
    assert lines[0] == "step 1 of 4: injecting"
    assert lines[-1].startswith("step 4 of 4: waiting for ")
    assert lines[-1].endswith(", at most 0.3 s")


@pytest.mark.parametrize(("seconds", "left"), [(30.0, "30 s left · "), (None, "")])
def test_a_write_step_of_known_length_says_the_seconds_left(
    seconds: float | None, left: str, parallel: ParallelSteps, caplog: pytest.LogCaptureFixture
) -> None:
    parallel.stepping.ends = None if seconds is None else time.monotonic() + seconds
    with caplog.at_level(logging.INFO, LOGGER.name):
        parallel.stepping.say_progress()
    assert f" · {left}0/s · sent 10" in caplog.records[-1].getMessage()
