"""The bounds of a matrix's spec, held against its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.matrix.result import MatrixArmResult
from harness.matrix.spec import MatrixSpec, matches
from harness.model.result import FindingClass


@dataclass(frozen=True, slots=True)
class ServiceLevelBreach:
    """An arm that does not keep a bound."""

    arm: str
    bound: str
    allowed: float
    found: float


def breaches(spec: MatrixSpec, arms: Sequence[MatrixArmResult]) -> tuple[ServiceLevelBreach, ...]:
    """Every bound that the runs that count do not keep."""
    return tuple(_breaches(spec, arms))


def _breaches(spec: MatrixSpec, arms: Sequence[MatrixArmResult]) -> Iterator[ServiceLevelBreach]:
    for arm in arms:
        figures = arm.figures
        if figures is None or not figures.runs:
            continue
        most_lost = max(run.count(FindingClass.LOST) for run in arm.runs if run.counts)
        for slo in spec.slo:
            if not matches(slo.at, arm.labels):
                continue
            for bound, allowed, found in (
                ("lost", slo.lost, most_lost),
                ("lost_per_million", slo.lost_per_million, figures.lost_per_million.value),
                ("duplicates_per_million", slo.duplicates_per_million, figures.duplicates_per_million.value),
                ("unavailable_seconds", slo.unavailable_seconds, figures.unavailable_seconds.median),
            ):
                if allowed is not None and found is not None and found > allowed:
                    yield ServiceLevelBreach(arm.name, bound, allowed, found)
