"""How long a run takes, estimated from its experiment."""

from __future__ import annotations

from harness.spec.experiment import Experiment

DAY = 86_400.0


OF_EVERY_RUN = 8.0


_OF_AN_INJECTION = 3.5


_FULL_SPEED = 50_000.0


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
