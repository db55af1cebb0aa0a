"""Lays out a timeline: coordinates and labels for the report's template, without markup."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.model.run import RunMeta
from harness.report import timeline_rows
from harness.report.timeline import Timeline
from harness.report.timeline_rows import Box, MarkRow, PartitionRow, Scale, Tick, mark_rows, partition_rows
from harness.report.words import moments_of

_LABEL_ROW_HEIGHT, _STEP_ROW_HEIGHT, _AXIS_HEIGHT = 17, 18, 34
_ROUND_STEPS = (0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


@dataclass(frozen=True, slots=True)
class Band:
    """A fault window over the whole height below its label, which starts at `label_x`."""

    x: float
    y: float
    width: float
    label_x: float
    kind: str
    label: str
    hint: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything the template draws; lengths in units of the SVG's view box."""

    height: float
    plot_top: float
    plot_bottom: float
    sends: str
    successes: str
    errors: str
    bands: tuple[Band, ...]
    steps: tuple[Box, ...]
    rows: tuple[PartitionRow, ...]
    rows_bottom: float
    mark_rows: tuple[MarkRow, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def lay_out(timeline: Timeline, meta: RunMeta) -> Chart:
    """Coordinates of one run's timeline."""
    bucket_seconds = timeline.bucket_ns / 1e9
    most = max((*timeline.sends, *timeline.successes, *timeline.errors), default=0) / bucket_seconds
    scale = Scale(timeline, 0.0, _rounded_up(most))
    label_rows, bands = _bands(scale, meta)
    scale = replace(scale, top=6.0 + _LABEL_ROW_HEIGHT * label_rows)
    bottom = scale.top + timeline_rows.PLOT_HEIGHT
    marks = mark_rows(scale, bottom + _STEP_ROW_HEIGHT + 6, moments_of(meta))
    rows_top = bottom + _STEP_ROW_HEIGHT + 10 + timeline_rows.MARK_PITCH * len(marks)
    rows = partition_rows(scale, rows_top, meta.replication_factor)
    end = rows_top + timeline_rows.STRIP_PITCH * len(rows)
    return Chart(
        height=end + _AXIS_HEIGHT,
        plot_top=scale.top,
        plot_bottom=bottom,
        sends=_line(scale, timeline.sends),
        successes=_line(scale, timeline.successes),
        errors=_line(scale, timeline.errors),
        bands=bands,
        steps=_steps(scale, meta, bottom + 3),
        rows=rows,
        rows_bottom=end,
        mark_rows=marks,
        x_ticks=_x_ticks(scale),
        y_ticks=tuple(Tick(scale.y(rate), f"{rate:,g}") for rate in _rates(scale.most)),
    )


def _bands(scale: Scale, meta: RunMeta) -> tuple[int, tuple[Band, ...]]:
    """The number of rows of labels, and the fault windows; labels do not overlap."""
    free_from: list[float] = []
    bands = []
    for window in sorted(meta.windows, key=lambda window: window.opened_ns):
        left, right = scale.x(window.opened_ns), scale.x(window.closed_ns)
        label = f"{window.name} ({window.target})"
        label_width = len(label) * timeline_rows.LETTER + 8
        # A label that would leave the drawing ends at its right edge instead.
        label_x = max(timeline_rows.LEFT, min(left + 4, timeline_rows.RIGHT - label_width))
        label_row = next((number for number, x in enumerate(free_from) if x <= label_x), len(free_from))
        free_from[label_row : label_row + 1] = [label_x + label_width]
        bands.append(
            Band(
                x=left,
                y=4.0 + _LABEL_ROW_HEIGHT * label_row,
                width=max(1.0, round(right - left, 1)),
                label_x=round(label_x, 1),
                kind="fault" if window.verified else "fault unproved",
                label=label,
                hint=f"{label}: {window.evidence or 'no evidence'}",
            )
        )
    return len(free_from), tuple(bands)


def _line(scale: Scale, counts: Sequence[int]) -> str:
    """A stepped line as an SVG path, a piece for each stretch of time in which there was anything."""
    zero, last = scale.y(0), 0
    path = []
    for index, count in enumerate((*counts, 0)):
        if count == last:
            continue
        x, y = scale.edge(index), scale.y(count * 1e9 / scale.timeline.bucket_ns)
        path.append(f"H{x}V{y}" if last else f"M{x} {zero}V{y}")
        last = count
    return "".join(path)


def _rounded_up(rate: float) -> float:
    """The next of 1, 2, 4, 6, 8 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(rate, 1.0)))
    return next(factor * power for factor in (1, 2, 4, 6, 8, 10) if factor * power >= rate)


def _rates(most: float) -> tuple[float, ...]:
    """Round rates at about equal distances on the square-root scale."""
    return tuple(dict.fromkeys((0.0, round(most / 16, 1), round(most / 4, 1), round(most * 9 / 16, 1), most)))


def _steps(scale: Scale, meta: RunMeta, y: float) -> tuple[Box, ...]:
    boxes = []
    for step in meta.steps:
        if step.kind not in ("write", "rival"):
            continue
        left = scale.x(step.started_ns)
        width = max(1.0, round(scale.x(step.ended_ns) - left, 1))
        label = step.name if len(step.name) * timeline_rows.LETTER + 6 <= width else ""
        boxes.append(
            Box(left, y, width, _STEP_ROW_HEIGHT - 3, "step", label, f"{step.kind} step {step.name}")
        )
    return tuple(boxes)


def _x_ticks(scale: Scale) -> tuple[Tick, ...]:
    origin, seconds = scale.timeline.origin_ns, scale.timeline.seconds
    step = next((step for step in _ROUND_STEPS if seconds / step <= 12), _ROUND_STEPS[-1])
    return tuple(
        Tick(scale.x(origin + int(number * step * 1e9)), f"{number * step:g} s")
        for number in range(int(seconds / step) + 1)
    )
