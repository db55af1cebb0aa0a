"""How long runs take: an estimate from the experiment, corrected by what earlier runs took."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean

from harness.spec.experiment import Experiment

DAY = 86_400.0
PER_RUN = 8.0
"""Seconds for the topic, healing, settling and both final reads, measured with three brokers on two cores."""
_PER_INJECTION = 3.5
_FULL_SPEED = 50_000.0
"""Records per second where no rate is given."""


def run_seconds(experiment: Experiment) -> float:
    """The estimated seconds of one run, without the start of its cluster."""
    total = PER_RUN
    rate = experiment.workload_of(experiment.arms[0]).rate
    for step in experiment.steps:
        if step.write is not None:
            records = (step.write.records or 0) / (step.write.rate or rate or _FULL_SPEED)
            total += step.write.seconds or min(records, step.write.at_most or records)
        elif step.sleep is not None:
            total += step.sleep.seconds
        elif step.inject is not None:
            total += _PER_INJECTION
        elif step.wait is not None:
            total += min(1.0, step.wait.within)
    return total


class RunTimes:
    """What runs took so far, by the name of what was run."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)
        self._estimated = 0.0

    def add(self, name: str, experiment: Experiment, seconds: float) -> None:
        self._seconds[name].append(seconds)
        self._estimated += run_seconds(experiment)

    def expected(self, name: str, experiment: Experiment) -> float:
        """Seconds of the next run: the mean of this name's, else the estimate corrected by what all took."""
        if name in self._seconds:
            return mean(self._seconds[name])
        taken = sum(map(sum, self._seconds.values()))
        return (taken / self._estimated if self._estimated else 1.0) * run_seconds(experiment)


def format_duration(seconds: float) -> str:
    """`2 h 05 min`, `3 min 20 s`, `41 days 16 h`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} day{'s' if days > 1 else ''} {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
