"""Where the time of a run went."""

from __future__ import annotations

import pytest

from harness.model.result import ArmResult, ExperimentResult, Judgement, VerdictWord
from harness.model.run import UNKNOWN_CLUSTER, RunMeta
from harness.report.timings import ALL, CHECK, START, timing_rows
from harness.run.experiment_run import PhaseTimer

pytestmark = pytest.mark.pure


def test_one_phase_goes_on_at_a_time_and_adds_up() -> None:
    now = [10.0]
    watch = PhaseTimer(lambda: now[0])
    for phase, seconds in (("a", 2.0), ("b", 3.0), ("a", 0.5), (None, 7.0)):
        watch.enter(phase)
        now[0] += seconds
    assert watch.seconds() == {"a": 2.5, "b": 3.0}


def test_nothing_is_told_of_a_phase_that_goes_on() -> None:
    watch = PhaseTimer(lambda: 1.0)
    watch.enter("a")
    assert watch.seconds() == {}


def ran(arm: str, number: int, timings: dict[str, float], check: float | None) -> ArmResult:
    meta = RunMeta(
        run_id=number,
        experiment="e",
        arm=arm,
        topic="t",
        partitions=1,
        replication_factor=1,
        acks="all",
        idempotent=True,
        cluster=UNKNOWN_CLUSTER.model_copy(update={"start_seconds": 4.0}),
        started_ns=1_000_000_000,
        ended_ns=1_000_000_000 * (11 + number),
        timings=timings,
    )
    judgement = Judgement(verdict=VerdictWord.UNKNOWN, reasons=(), as_promised=None)
    return ArmResult(
        folder=f"{arm}-{number}", meta=meta, summary=None, judgement=judgement, check_seconds=check
    )


def test_rows_are_medians_by_arm_in_the_order_of_the_run() -> None:
    arms = (
        ran("safe", 1, {"topics": 1.0, "steps": 8.0}, 3.0),
        ran("safe", 2, {"topics": 2.0, "steps": 8.0}, 1.0),
        ran("safe", 3, {"topics": 6.0, "steps": 8.0}, 0.5),
        # It broke before it had any, and was not checked.
        ran("fast", 1, {}, None),
    )
    result = ExperimentResult(
        experiment="e", title="E", description="", arms=arms, started_ns=0, seconds=60.0, command="x"
    )
    assert timing_rows(result) == [
        (START, (4.0, 4.0)),
        ("topics", (2.0, None)),
        ("steps", (8.0, None)),
        (ALL, (12.0, 11.0)),
        (CHECK, (1.0, None)),
    ]
