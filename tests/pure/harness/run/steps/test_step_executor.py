"""The progress line, and the faults of a step: none delays another, and every failure is reported."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from faults.schedules.entries import StepCondition
from faults.schedules.state import Schedule
from faults.schedules.tracks import At, Begin, Following, Pick, Repeating, Track, WhenTrue
from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.targets.fault_cluster import FaultCluster
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.run.faults.ledger import FaultLedger
from harness.run.faults.scheduler import Scheduler
from harness.run.steps.progress_line import ReportRate, progress_line
from harness.run.steps.step_context import StepContext
from harness.run.steps.step_executor import carry_out_steps
from harness.spec.experiment_files import parse
from tests.support.journal_rows import Rows
from workloads.records.producer.orders import RivalOrder
from workloads.records.producer.producers import Producers
from workloads.records.producer.reports import Progress

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
PATIENCE = 60.0


def test_the_rate_is_that_of_the_last_second() -> None:
    rate = ReportRate()
    assert rate.of(0, 10.0) == 0.0
    assert rate.of(50, 10.5) == 100.0
    assert rate.of(150, 11.0) == 150.0
    assert rate.of(150, 11.5) == 100.0
    assert rate.of(150, 12.0) == 0.0
    assert rate.of(150, 99.0) == 0.0


def test_errors_are_shown_only_when_there_are_any() -> None:
    quiet = progress_line([Progress(sent=10, acked=7)], ReportRate())
    assert quiet == "0/s · sent 10 · acked 7 · open 3"
    timed_out = Progress(sent=10, acked=7, indeterminate=1, last_error="_MSG_TIMED_OUT")
    loud = progress_line([timed_out, Progress(sent=10, acked=10)], ReportRate())
    assert "errors 1 (last _MSG_TIMED_OUT)" in loud


class AskedProducers(Producers):
    """Producers that are asked to let a rival begin; their sends have reports if `reported`."""

    def __init__(self, reported: bool) -> None:
        self.reported = reported
        self.asked: list[tuple[int, RivalOrder]] = []

    def begin_rival(self, step: int, rival: RivalOrder) -> list[str]:
        self.asked.append((step, rival))
        return []

    def finish(self, deadline: float | None = None) -> bool:  # noqa: ARG002
        return self.reported

    def progress(self) -> Progress:
        return Progress()


@pytest.mark.parametrize("reported", [True, False])
def test_a_rival_step_asks_the_producers_of_each_arm_and_awaits_their_reports(
    monkeypatch: pytest.MonkeyPatch, reported: bool
) -> None:
    monkeypatch.setattr("harness.run.steps.step_context._GRACE_SECONDS", 0.0)
    experiment = parse(
        "{name: x, title: x, arms: [{name: a}], workload: {producers: 2, transactions: {}}, "
        "steps: [{rival: {name: over, of: 1, records: 7, transactional_id: own}}]}",
        "x.yaml",
    )
    producers = AskedProducers(reported)
    arms: Any = [SimpleNamespace(producers=producers, arm=SimpleNamespace(without_faults=False))]
    ledger: Any = SimpleNamespace(open_names=str)
    nothing: Any = None
    executor = StepContext(nothing, experiment, arms, ledger, 0.2, lambda _: None, view=lambda: None, seed=1)
    carry_out_steps(executor)
    assert producers.asked == [(0, RivalOrder("over", of=1, records=7, same_id=False))]
    assert [(step.name, step.kind) for step in executor.done] == [("over", "rival")]
    assert executor.problems == ([] if reported else ["rival step over did not end within 0.4 s"])


@dataclass
class Gate:
    """What holds up the faults on one node, and what goes wrong with them."""

    verify: threading.Event = field(default_factory=threading.Event)
    heal: threading.Event = field(default_factory=threading.Event)
    apply_fails: bool = False
    verify_breaks: bool = False
    heal_fails: int = 0


GATES: dict[int, Gate] = {}


class Held(Injection):
    """An injection that goes on when it may."""

    kind: str = "held"
    stops_process: ClassVar[bool] = True
    node: int

    @property
    def nodes(self) -> tuple[int, ...]:
        return (self.node,)

    def apply(self, context: InjectionContext) -> None:  # noqa: ARG002
        if GATES[self.node].apply_fails:
            raise FaultError("it cannot be applied")

    def verify(self, context: InjectionContext) -> Evidence:  # noqa: ARG002
        assert GATES[self.node].verify.wait(PATIENCE)
        if GATES[self.node].verify_breaks:
            raise ZeroDivisionError
        return Evidence(True, "seen")

    def undo(self, context: InjectionContext) -> None:
        pass

    def healed(self, context: InjectionContext) -> Evidence:  # noqa: ARG002
        gate = GATES[self.node]
        assert gate.heal.wait(PATIENCE)
        if gate.heal_fails:
            gate.heal_fails -= 1
            raise FaultError("it is not back")
        return Evidence(True, "back")


class Hold(FaultSpec):
    """A fault that goes on when it may."""

    injection: ClassVar[type[Injection]] = Held
    node: int = 1

    @classmethod
    def name(cls) -> str:
        return "hold"

    def aim(self, context: InjectionContext) -> Injection:  # noqa: ARG002
        return Held(node=self.node)

    def max_brokers_down(self, shape: ClusterShape) -> int:  # noqa: ARG002
        return 1


@dataclass
class Step:
    """A scheduler at work on some tracks."""

    scheduler: Scheduler
    rows: Rows
    problems: list[str]
    ledger: FaultLedger
    acked: list[int]

    def until(self, seen: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not seen():
            assert time.monotonic() < deadline, self.rows.phases()
            time.sleep(0.01)

    def seen(self, fault: str, phase: str) -> bool:
        return (fault, phase) in self.rows.phases()

    def count(self, phase: str) -> int:
        return [one for _, one in self.rows.phases()].count(phase)

    def finish(self) -> None:
        self.scheduler.end()
        assert self.scheduler.wait(PATIENCE)


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Step]]:
    monkeypatch.setenv("KAFKA_CHAOS_STATE", str(tmp_path))
    GATES.clear()
    GATES.update({node: Gate() for node in (1, 2, 3)})
    steps: list[Step] = []

    def of(*tracks: Track, **limits: Any) -> Step:
        rows, acked = Rows(), [500]
        problems: list[str] = []
        ledger = FaultLedger(
            lambda name: InjectionContext(cast(FaultCluster, None), "t", 1.0, name), rows, "kc-1"
        )
        scheduler = Scheduler(
            Schedule(tracks, "7/w", SHAPE, **limits),
            ledger,
            "t",
            problems,
            view=lambda: None,
            acked=lambda: acked[0],
        )
        steps.append(Step(scheduler, rows, problems, ledger, acked))
        scheduler.start()
        return steps[-1]

    yield of
    for one in steps:
        one.scheduler.cancel()
    for gate in GATES.values():
        gate.verify.set()
        gate.heal.set()


def track(number: int, begin: Begin, node: int, lasting: float = 0.01) -> Track:
    place = f"faults[{number}]"
    return Track(place, place, (), begin, (Pick(Hold(node=node), (lasting, lasting), f"{place}.fault"),))


def test_a_slow_proof_and_a_slow_heal_hold_up_no_other_fault(step: Callable[..., Step]) -> None:
    GATES[2].verify.set()
    GATES[3].verify.set()
    GATES[3].heal.set()
    under_way = step(track(0, At(0.0), 1), track(1, At(0.01), 2), track(2, At(0.02), 3))
    under_way.until(lambda: under_way.seen("hold-3", "healed"))
    # They have threads of their own, which may be later.
    under_way.until(lambda: under_way.seen("hold-1", "injected"))
    under_way.until(lambda: under_way.seen("hold-2", "undone"))
    assert not under_way.seen("hold-1", "verified")
    assert not under_way.seen("hold-2", "healed")
    under_way.scheduler.end()
    assert not under_way.scheduler.wait(0.1)
    for node in (1, 2):
        GATES[node].verify.set()
        GATES[node].heal.set()
    under_way.finish()
    assert under_way.problems == []
    assert all(window.closed_ns and window.verified for window in under_way.ledger.windows())


def test_the_decision_is_journaled_with_its_entry_and_time(step: Callable[..., Step]) -> None:
    GATES[1].verify.set()
    GATES[1].heal.set()
    under_way = step(track(0, At(0.02), 1, lasting=0.03))
    under_way.until(lambda: under_way.seen("hold-1", "healed"))
    under_way.finish()
    detail = json.loads(under_way.rows.rows[0]["detail"])
    assert (detail["entry"], detail["due"], detail["for"]) == ("faults[0]", 0.02, 0.03)
    assert detail["at"] >= 0.02


def test_a_node_that_another_fault_holds_is_waited_for(step: Callable[..., Step]) -> None:
    GATES[1].verify.set()
    under_way = step(track(0, At(0.0), 1), track(1, At(0.01), 1))
    under_way.until(lambda: under_way.count("put-off") > 0)
    assert under_way.count("injected") == 1
    GATES[1].heal.set()
    under_way.until(lambda: under_way.count("healed") == 2)
    under_way.finish()
    assert under_way.problems == []
    assert len(under_way.ledger.windows()) == 2


def test_what_never_got_its_turn_is_a_problem(step: Callable[..., Step]) -> None:
    GATES[1].verify.set()
    under_way = step(track(0, At(0.0), 1), track(1, At(0.01), 1), track(2, At(99.0), 2))
    under_way.until(lambda: under_way.count("put-off") > 0)
    under_way.scheduler.end()
    GATES[1].heal.set()
    under_way.finish()
    assert sorted(under_way.problems) == [
        "faults[1] (hold) was put off, and never began",
        "faults[2] (hold) never began: the step ended before it was due",
    ]


def test_a_condition_counts_from_the_steps_beginning(step: Callable[..., Step]) -> None:
    GATES[1].verify.set()
    GATES[1].heal.set()
    condition = WhenTrue(StepCondition(acked=100), None)
    under_way = step(track(0, condition, 1), track(1, At(0.0), 2))
    under_way.until(lambda: under_way.seen("hold-1", "injected"))
    assert under_way.count("injected") == 1
    under_way.acked[0] = 600
    under_way.until(lambda: under_way.count("healed") == 1)
    GATES[2].verify.set()
    GATES[2].heal.set()
    under_way.finish()
    assert under_way.problems == []


def test_a_condition_that_does_not_come_in_time_is_a_problem(step: Callable[..., Step]) -> None:
    under_way = step(track(0, WhenTrue(StepCondition(acked=100), 0.05), 1))
    under_way.until(lambda: bool(under_way.problems))
    under_way.finish()
    (problem,) = under_way.problems
    assert "within 0.05 s it was not seen that 100 records are acknowledged" in problem


def test_what_cannot_be_injected_is_a_problem_and_ends_its_sequence(step: Callable[..., Step]) -> None:
    GATES[1].apply_fails = True
    under_way = step(track(0, At(0.0), 1), track(1, Following((0,), 0.0), 2))
    under_way.until(lambda: bool(under_way.problems))
    under_way.finish()
    assert under_way.problems == [
        "it cannot be applied",
        "faults[1] (hold) never began: the fault before it was not healed when the step ended",
    ]


def test_an_unexpected_error_in_a_thread_is_reported(step: Callable[..., Step]) -> None:
    GATES[1].verify_breaks = True
    GATES[1].verify.set()
    under_way = step(track(0, At(0.0), 1))
    under_way.until(lambda: bool(under_way.problems))
    under_way.finish()
    assert under_way.problems == ["faults[0] broke: ZeroDivisionError()"]


def test_a_heal_that_others_prevent_is_looked_at_again(step: Callable[..., Step]) -> None:
    GATES[1].heal_fails = 2
    for node in (1, 2):
        GATES[node].verify.set()
        GATES[node].heal.set()
    under_way = step(track(0, At(0.0), 1), track(1, At(0.0), 2, lasting=4.0))
    under_way.until(lambda: under_way.seen("hold-1", "healed"))
    under_way.finish()
    assert under_way.problems == []


def test_a_heal_that_fails_alone_is_a_problem(step: Callable[..., Step]) -> None:
    GATES[1].heal_fails = 99
    GATES[1].verify.set()
    GATES[1].heal.set()
    under_way = step(track(0, At(0.0), 1))
    under_way.until(lambda: bool(under_way.problems))
    under_way.finish()
    assert under_way.problems == ["it is not back"]
    assert under_way.ledger.windows()[0].closed_ns is None


def test_an_end_known_beforehand_ends_it(step: Callable[..., Step]) -> None:
    GATES[1].verify.set()
    GATES[1].heal.set()
    rhythm = Repeating(0.0, (0.1, 0.1), False, None, None, 1)
    under_way = step(track(0, rhythm, 1), seconds=1.5)
    assert under_way.scheduler.wait(PATIENCE)
    assert 1 <= under_way.count("healed") <= 15
    assert under_way.problems == []


def test_a_cancelled_step_does_not_wait(step: Callable[..., Step]) -> None:
    under_way = step(track(0, At(0.0), 1), track(1, At(0.2), 2))
    under_way.until(lambda: under_way.seen("hold-1", "injected"))
    under_way.scheduler.cancel()
    assert under_way.scheduler.wait(PATIENCE)
    assert under_way.problems == []
