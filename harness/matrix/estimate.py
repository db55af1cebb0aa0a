"""Estimates how long a matrix takes, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.campaign.run_time import run_seconds
from harness.matrix.expand import MatrixArm
from harness.matrix.spec import Repeats

_CLUSTER_START = 15.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Total `seconds`, of at most `runs` runs with `starts` cluster starts."""

    seconds: float
    runs: int
    starts: int


def estimate(arms: Sequence[MatrixArm], repeats: Repeats) -> Estimate:
    """For all runs of all arms that are not refused; with a budget, no more than that."""
    experiments = [arm.experiment for arm in arms if arm.experiment is not None]
    rounds = repeats.most
    one = sum(run_seconds(experiment) for experiment in experiments)
    clusters = len({experiment.cluster.model_dump_json() for experiment in experiments})
    # A round begins on the cluster that the round before it ended on.
    starts = clusters + (rounds - 1) * (clusters - 1) if clusters else 0
    seconds = one * rounds + starts * _CLUSTER_START
    runs = len(experiments) * rounds
    budget = (repeats.budget_minutes or 0) * 60
    if budget and seconds > budget:
        return Estimate(
            budget, max(1, round(runs * budget / seconds)), max(1, round(starts * budget / seconds))
        )
    return Estimate(seconds, runs, starts)
