"""Lays out a timeline: coordinates and labels for the report's template, without markup."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.model.run import RunMeta
from harness.report.timeline import Strip, Timeline

WIDTH, LEFT, RIGHT = 960, 64, 12
PLOT_HEIGHT = 190
MARK_HEIGHT, MARK_PITCH = 16, 20
_MARK_LABELS = {"duplicates": "dupl.", "rebalanced": "rebal."}
MOST_MARKS = 60
"""The most bars in one row of findings."""
STRIP_HEIGHT, ALIVE_HEIGHT, ISR_HEIGHT, STRIP_PITCH = 14, 5, 9, 37
BROKER_COLOURS = 8
GEOMETRY = {
    "width": WIDTH,
    "left": LEFT,
    "right": WIDTH - RIGHT,
    "mark": MARK_HEIGHT,
    "isr": STRIP_HEIGHT + ALIVE_HEIGHT + 11,
}
"""Lengths that the template needs."""
_LABEL_ROW_HEIGHT, _STEP_ROW_HEIGHT, _AXIS_HEIGHT = 17, 18, 34
_LETTER = 6.6
"""Approximate width of a letter in labels, in units of the view box."""
_THINNEST = 0.4
MOST_SPANS = 250
"""The most stretches of leadership in one drawing, the longest ones; the size of a page is bounded by it."""
_ROUND_STEPS = (0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with a label (empty where it would not fit) and a longer `hint`. `kind` is a CSS class."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    label: str
    hint: str


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
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition: its leader boxes, a path where it had success reports, and the ISR's size as a polygon
    of SVG points with labels."""

    label: str
    y: float
    leaders: tuple[Box, ...]
    alive: str
    isr: str
    isr_labels: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class MarkRow:
    """Findings of one class, or rebalances, over time, one bar per stretch of time that has any; `y` is the
    row's top."""

    label: str
    y: float
    marks: tuple[Box, ...]


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


@dataclass(frozen=True, slots=True)
class _Scale:
    """Converts time and rate to coordinates. The scale of rates is a square root, so that a burst does not
    flatten the rest."""

    origin_ns: int
    seconds: float
    top: float
    most: float

    def x(self, at_ns: int) -> float:
        share = (at_ns - self.origin_ns) / 1e9 / self.seconds
        return round(LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, rate: float) -> float:
        return round(self.top + PLOT_HEIGHT * (1 - math.sqrt(rate / self.most)), 1)


def lay_out(timeline: Timeline, meta: RunMeta) -> Chart:
    """Coordinates of one run's timeline."""
    bucket_seconds = timeline.bucket_ns / 1e9
    most = max((*timeline.sends, *timeline.successes, *timeline.errors), default=0) / bucket_seconds
    scale = _Scale(timeline.origin_ns, timeline.seconds, 0.0, _rounded_up(most))
    label_rows, bands = _bands(scale, meta)
    scale = replace(scale, top=6.0 + _LABEL_ROW_HEIGHT * label_rows)
    bottom = scale.top + PLOT_HEIGHT
    marks = _mark_rows(scale, timeline, bottom + _STEP_ROW_HEIGHT + 6)
    rows_top = bottom + _STEP_ROW_HEIGHT + 10 + MARK_PITCH * len(marks)
    thinnest = _thinnest(scale, timeline)
    rows = tuple(
        _row(scale, thinnest, strip, timeline, rows_top + STRIP_PITCH * number, meta.replication_factor)
        for number, strip in enumerate(timeline.strips)
    )
    end = rows_top + STRIP_PITCH * len(rows)
    return Chart(
        height=end + _AXIS_HEIGHT,
        plot_top=scale.top,
        plot_bottom=bottom,
        sends=_line(scale, timeline.sends, timeline),
        successes=_line(scale, timeline.successes, timeline),
        errors=_line(scale, timeline.errors, timeline),
        bands=bands,
        steps=_steps(scale, meta, bottom + 3),
        rows=rows,
        rows_bottom=end,
        mark_rows=marks,
        x_ticks=_x_ticks(scale),
        y_ticks=tuple(Tick(scale.y(rate), f"{rate:,g}") for rate in _rates(scale.most)),
    )


def broker_class(broker: int) -> str:
    """CSS class of a broker's colour; -1: no leader."""
    return "no-leader" if broker < 0 else f"broker-{(broker - 1) % BROKER_COLOURS}"


def _bands(scale: _Scale, meta: RunMeta) -> tuple[int, tuple[Band, ...]]:
    """The number of rows of labels, and the fault windows; labels do not overlap."""
    free_from: list[float] = []
    bands = []
    for window in sorted(meta.windows, key=lambda window: window.opened_ns):
        left = scale.x(window.opened_ns)
        right = scale.x(window.closed_ns) if window.closed_ns is not None else WIDTH - RIGHT
        label = f"{window.name} ({window.target})"
        label_width = len(label) * _LETTER + 8
        # A label that would leave the drawing ends at its right edge instead.
        label_x = max(LEFT, min(left + 4, WIDTH - RIGHT - label_width))
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


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """How many findings of one class, or partitions that changed owners, fall between two times in seconds
    from the run's start."""

    kind: str
    from_s: float
    to_s: float
    count: int


def found_spans(timeline: Timeline) -> tuple[FoundSpan, ...]:
    """The bars of lost records and duplicates: at most `MOST_MARKS` of each."""
    return _spans(timeline, (("lost", timeline.lost), ("duplicates", timeline.duplicates)))


def rebalance_spans(timeline: Timeline) -> tuple[FoundSpan, ...]:
    """The bars of partitions that were assigned to members of groups or taken from them."""
    return _spans(timeline, (("rebalanced", timeline.rebalances),))


def _spans(timeline: Timeline, series: Iterable[tuple[str, Sequence[int]]]) -> tuple[FoundSpan, ...]:
    spans = []
    for kind, counts in series:
        width = max(1, -(-len(counts) // MOST_MARKS))
        seconds = timeline.bucket_ns / 1e9
        for first in range(0, len(counts), width):
            count = sum(counts[first : first + width])
            if count:
                spans.append(FoundSpan(kind, first * seconds, (first + width) * seconds, count))
    return tuple(spans)


def _mark_rows(scale: _Scale, timeline: Timeline, y: float) -> tuple[MarkRow, ...]:
    spans = (*found_spans(timeline), *rebalance_spans(timeline))
    rows: list[MarkRow] = []
    for kind in dict.fromkeys(span.kind for span in spans):
        mine = [span for span in spans if span.kind == kind]
        most = max(span.count for span in mine)
        top = round(y + MARK_PITCH * len(rows), 1)
        marks = []
        for span in mine:
            left, right = (scale.x(scale.origin_ns + int(at * 1e9)) for at in (span.from_s, span.to_s))
            height = round(3 + (MARK_HEIGHT - 3) * math.sqrt(span.count / most), 1)
            hint = f"{span.count:,} {span.kind} from {span.from_s:.2f} s to {span.to_s:.2f} s"
            box_y, width = round(top + MARK_HEIGHT - height, 1), max(2.0, round(right - left, 1))
            marks.append(Box(left, box_y, width, height, span.kind, "", hint))
        rows.append(MarkRow(_MARK_LABELS.get(kind, kind), top, tuple(marks)))
    return tuple(rows)


def _line(scale: _Scale, counts: Sequence[int], timeline: Timeline) -> str:
    """A stepped line as an SVG path, a piece for each stretch of time in which there was anything."""
    zero, last = scale.y(0), 0
    path = []
    for index, count in enumerate((*counts, 0)):
        if count == last:
            continue
        x, y = _edge(scale, timeline, index), scale.y(count * 1e9 / timeline.bucket_ns)
        path.append(f"H{x}V{y}" if last else f"M{x} {zero}V{y}")
        last = count
    return "".join(path)


def _edge(scale: _Scale, timeline: Timeline, index: int) -> float:
    """Where a bucket begins."""
    return scale.x(timeline.origin_ns + index * timeline.bucket_ns)


def _rounded_up(rate: float) -> float:
    """The next of 1, 2, 4, 6, 8 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(rate, 1.0)))
    return next(factor * power for factor in (1, 2, 4, 6, 8, 10) if factor * power >= rate)


def _rates(most: float) -> tuple[float, ...]:
    """Round rates at about equal distances on the square-root scale."""
    return tuple(dict.fromkeys((0.0, round(most / 16, 1), round(most / 4, 1), round(most * 9 / 16, 1), most)))


def _steps(scale: _Scale, meta: RunMeta, y: float) -> tuple[Box, ...]:
    boxes = []
    for step in meta.steps:
        if step.kind != "write":
            continue
        left = scale.x(step.started_ns)
        right = scale.x(step.ended_ns) if step.ended_ns is not None else WIDTH - RIGHT
        width = max(1.0, round(right - left, 1))
        label = step.name if len(step.name) * _LETTER + 6 <= width else ""
        boxes.append(Box(left, y, width, _STEP_ROW_HEIGHT - 3, "step", label, f"write step {step.name}"))
    return tuple(boxes)


def _thinnest(scale: _Scale, timeline: Timeline) -> float:
    """The smallest width of a stretch that is drawn."""
    widths = sorted(
        (scale.x(span.to_ns) - scale.x(span.from_ns) for strip in timeline.strips for span in strip.spans),
        reverse=True,
    )
    # Equal widths could be more than `MOST_SPANS`: then none of them is drawn.
    return max(_THINNEST, widths[MOST_SPANS] + 0.05) if len(widths) > MOST_SPANS else _THINNEST


def _row(
    scale: _Scale, thinnest: float, strip: Strip, timeline: Timeline, y: float, replicas: int
) -> PartitionRow:
    leaders: list[Box] = []
    points: list[str] = []
    labels: list[Tick] = []
    base = round(y + STRIP_HEIGHT + ALIVE_HEIGHT + 3 + ISR_HEIGHT, 1)
    named: int | None = None
    isr_named, free_from = None, 0.0
    for span in strip.spans:
        left, right = scale.x(span.from_ns), scale.x(span.to_ns)
        width = round(right - left, 1)
        if width < thinnest:
            continue
        who = "no leader" if span.leader < 0 else f"leader {span.leader}"
        short = "none" if span.leader < 0 else str(span.leader)
        fitting = next((text for text in (who, short) if len(text) * _LETTER + 4 <= width), "")
        label = fitting if span.leader != named else ""
        named = span.leader if fitting else named
        hint = f"partition {strip.partition}: {who}, leader epoch {span.epoch}, ISR of {span.isr}"
        leaders.append(Box(left, y, width, STRIP_HEIGHT, broker_class(span.leader), label, hint))
        top = round(base - ISR_HEIGHT * min(1.0, max(0, span.isr) / replicas), 1)
        points += [f"{left},{base}", f"{left},{top}", f"{right},{top}", f"{right},{base}"]
        if span.isr != isr_named and left >= free_from and width >= 2 * _LETTER:
            labels.append(Tick(left + 3, f"ISR {span.isr}" if width >= 7 * _LETTER else str(span.isr)))
            isr_named, free_from = span.isr, left + 7 * _LETTER
    middle = y + STRIP_HEIGHT + 1 + ALIVE_HEIGHT / 2
    return PartitionRow(
        label=f"p{strip.partition}",
        y=y,
        leaders=tuple(leaders),
        alive=_alive(scale, strip.successes, timeline, middle),
        isr=" ".join(points),
        isr_labels=tuple(labels),
    )


def _alive(scale: _Scale, successes: Sequence[int], timeline: Timeline, y: float) -> str:
    """A level SVG path over the buckets with at least one success report."""
    path = []
    was = False
    for index, count in enumerate((*successes, 0)):
        if (count > 0) != was:
            x = _edge(scale, timeline, index)
            path.append(f"H{x}" if was else f"M{x} {y}")
            was = not was
    return "".join(path)


def _x_ticks(scale: _Scale) -> tuple[Tick, ...]:
    step = next((step for step in _ROUND_STEPS if scale.seconds / step <= 12), _ROUND_STEPS[-1])
    count = int(scale.seconds / step) + 1
    return tuple(
        Tick(scale.x(scale.origin_ns + int(number * step * 1e9)), f"{number * step:g} s")
        for number in range(count)
    )
