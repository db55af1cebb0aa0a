"""How long a matrix will take: a guess before it starts, and a better one as runs are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.experiment import Experiment
from harness.matrix.expand import MatrixArm
from harness.matrix.spec import Repeats

DAY = 86_400.0
OF_EVERY_RUN = 8.0
"""Topic, healing, settling and the final read twice, as measured with three brokers on two cores."""
_OF_AN_INJECTION = 3.5
_OF_A_CLUSTER = 15.0
_FULL_SPEED = 50_000.0
"""Records a second where no rate is given."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """`seconds` in all, of `runs` runs at most on `starts` starts of a cluster."""

    seconds: float
    runs: int
    starts: int


def run_seconds(experiment: Experiment) -> float:
    """One run, without the start of its cluster."""
    total = OF_EVERY_RUN
    rate = experiment.workload_of(experiment.arms[0]).rate
    for step in experiment.steps:
        if step.write is not None:
            records = (step.write.records or 0) / (step.write.rate or rate or _FULL_SPEED)
            total += step.write.seconds or min(records, step.write.at_most or records)
        elif step.sleep is not None:
            total += step.sleep.seconds
        elif step.inject is not None:
            total += _OF_AN_INJECTION
        elif step.wait is not None:
            total += min(1.0, step.wait.within)
    return total


def estimate(arms: Sequence[MatrixArm], repeats: Repeats) -> Estimate:
    """All runs of all arms that are not refused; with a budget, no more than that."""
    experiments = [arm.experiment for arm in arms if arm.experiment is not None]
    rounds = repeats.most
    one = sum(run_seconds(experiment) for experiment in experiments)
    clusters = len({experiment.cluster.model_dump_json() for experiment in experiments})
    # A round begins on the cluster that the round before it ended on.
    starts = clusters + (rounds - 1) * (clusters - 1) if clusters else 0
    seconds = one * rounds + starts * _OF_A_CLUSTER
    runs = len(experiments) * rounds
    budget = (repeats.budget_minutes or 0) * 60
    if budget and seconds > budget:
        return Estimate(
            budget, max(1, round(runs * budget / seconds)), max(1, round(starts * budget / seconds))
        )
    return Estimate(seconds, runs, starts)


def told(seconds: float) -> str:
    """`2 h 05 min`, `3 min 20 s`, `41 days 16 h`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} day{'s' if days > 1 else ''} {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
