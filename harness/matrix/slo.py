"""Checks the bounds of a matrix's spec (SLOs) against its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.matrix.result import MatrixArmResult
from harness.matrix.spec import MatrixSpec, matches
from harness.model.frozen import Frozen
from harness.model.result import FindingClass


class SloBreach(Frozen):
    """A bound of the spec that an arm of the new result does not keep."""

    arm: str
    bound: str
    allowed: float
    found: float


def breaches(spec: MatrixSpec, arms: Sequence[MatrixArmResult]) -> tuple[SloBreach, ...]:
    """Every bound that an arm's runs exceed; runs of verdict `unknown` are ignored."""
    return tuple(_breaches(spec, arms))


def _breaches(spec: MatrixSpec, arms: Sequence[MatrixArmResult]) -> Iterator[SloBreach]:
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
                    yield SloBreach(arm=arm.name, bound=bound, allowed=allowed, found=found)
