"""The time that the phases of an experiment took, as a table."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from harness.model.result import ExperimentResult
from harness.report.page.blocks import Cell, Table

START, CHECK, ALL = "cluster start (once)", "check (beside the next run)", "whole run"


def timing_rows(result: ExperimentResult) -> list[tuple[str, tuple[float | None, ...]]]:
    """Each phase with its seconds per arm (None: the arm had no such phase), the median of the arm's runs.

    Between the start of the cluster and the check are the phases of a run in their order, then the whole run,
    which may be longer than their sum.
    """
    by_arm: dict[str, list[dict[str, float | None]]] = {}
    for arm in result.arms:
        meta = arm.meta
        whole = None if meta.ended_ns is None else (meta.ended_ns - meta.started_ns) / 1e9
        once = {START: meta.cluster.start_seconds, ALL: whole, CHECK: arm.check_seconds}
        by_arm.setdefault(meta.arm, []).append({**once, **meta.timings})
    phases = dict.fromkeys(phase for arm in result.arms for phase in arm.meta.timings)
    return [
        (phase, tuple(_median(run.get(phase) for run in runs) for runs in by_arm.values()))
        for phase in (START, *phases, ALL, CHECK)
    ]


def _median(seconds: Iterable[float | None]) -> float | None:
    known = [value for value in seconds if value is not None]
    return median(known) if known else None


def table(result: ExperimentResult) -> Table:
    """The table that `run --timings` prints: one row per phase, one column per arm, in seconds."""
    arms = list(dict.fromkeys(arm.meta.arm for arm in result.arms))
    medians = ", medians" if len(result.arms) > len(arms) else ""
    cells = [
        [
            Cell(text, strong=phase == ALL)
            for text in (phase, *("-" if value is None else f"{value:.1f}" for value in seconds))
        ]
        for phase, seconds in timing_rows(result)
    ]
    title = f"{result.experiment}: seconds by phase{medians}"
    return Table(("phase", *arms), cells, title=title, right=arms)
