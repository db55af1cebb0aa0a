"""The rows of a timeline below its plot: findings and rebalances over time, and a strip per partition. The
shapes and the scale are those of the whole drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.timeline import Strip, Timeline
from harness.report.workload_words import Moment

WIDTH, LEFT, RIGHT = 960, 64, 948
"""Of the whole drawing; and where its plot begins and ends."""
PLOT_HEIGHT = 190
LETTER = 6.6
"""Approximate width of a letter in labels, in units of the view box."""
MARK_HEIGHT, MARK_PITCH = 16, 20
MOST_MARKS = 60
"""The most bars in one row of findings."""
STRIP_HEIGHT, ALIVE_HEIGHT, ISR_HEIGHT, STRIP_PITCH = 14, 5, 9, 37
GEOMETRY = {
    "width": WIDTH,
    "left": LEFT,
    "right": RIGHT,
    "mark": MARK_HEIGHT,
    "isr": STRIP_HEIGHT + ALIVE_HEIGHT + 11,
}
"""Lengths that the template needs."""
BROKER_COLOURS = 8
_THINNEST = 0.4
MOST_SPANS = 250
"""The most stretches of leadership in one drawing, the longest ones; the size of a page is bounded by it."""


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
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Converts time and rate to coordinates. The scale of rates is a square root, so that a burst does not
    flatten the rest."""

    timeline: Timeline
    top: float
    most: float

    def x(self, at_ns: int | None) -> float:
        """Where a moment is; None: the right edge."""
        if at_ns is None:
            return RIGHT
        share = (at_ns - self.timeline.origin_ns) / 1e9 / self.timeline.seconds
        return round(LEFT + min(1.0, max(0.0, share)) * (RIGHT - LEFT), 1)

    def y(self, rate: float) -> float:
        return round(self.top + PLOT_HEIGHT * (1 - math.sqrt(rate / self.most)), 1)

    def edge(self, index: int) -> float:
        """Where a bucket begins."""
        return self.x(self.timeline.origin_ns + index * self.timeline.bucket_ns)


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition: leader boxes, a path where it had success reports, the ISR's size as an SVG polygon."""

    label: str
    y: float
    leaders: tuple[Box, ...]
    alive: str
    isr: str
    isr_labels: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class MarkRow:
    """Findings of one class, or rebalances: a bar per stretch of time that has any; `y` is the row's top."""

    label: str
    y: float
    marks: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """How many findings of one class, or partitions that changed owners, fall between two moments."""

    from_ns: int
    to_ns: int
    count: int


def found_spans(timeline: Timeline, counts: Sequence[int]) -> list[FoundSpan]:
    """The bars of one series of counts per bucket, at most `MOST_MARKS`."""
    width, origin, bucket = max(1, -(-len(counts) // MOST_MARKS)), timeline.origin_ns, timeline.bucket_ns
    return [
        FoundSpan(origin + first * bucket, origin + (first + width) * bucket, count)
        for first in range(0, len(counts), width)
        if (count := sum(counts[first : first + width]))
    ]


def mark_rows(scale: Scale, y: float, moments: Sequence[Moment]) -> tuple[MarkRow, ...]:
    """The rows of findings, of rebalances and of what workloads did by themselves, the first one at `y`."""
    rows: list[MarkRow] = []
    timeline = scale.timeline
    for kind, label, counts in (
        ("lost", "lost", timeline.lost),
        ("duplicates", "dupl.", timeline.duplicates),
        ("rebalanced", "rebal.", timeline.rebalances),
    ):
        spans = found_spans(timeline, counts)
        most = max((span.count for span in spans), default=0)
        top = round(y + MARK_PITCH * len(rows), 1)
        marks = []
        for span in spans:
            left, right = scale.x(span.from_ns), scale.x(span.to_ns)
            height = round(3 + (MARK_HEIGHT - 3) * math.sqrt(span.count / most), 1)
            from_s, to_s = ((at - timeline.origin_ns) / 1e9 for at in (span.from_ns, span.to_ns))
            hint = f"{span.count:,} {kind} from {from_s:.2f} s to {to_s:.2f} s"
            box_y, width = round(top + MARK_HEIGHT - height, 1), max(2.0, round(right - left, 1))
            marks.append(Box(left, box_y, width, height, kind, "", hint))
        if marks:
            rows.append(MarkRow(label, top, tuple(marks)))
    top = round(y + MARK_PITCH * len(rows), 1)
    ended = tuple(
        Box(scale.x(moment.at_ns), top, 3.0, MARK_HEIGHT, "exit", "", moment.words)
        for moment in moments[:MOST_MARKS]
    )
    return (*rows, MarkRow("exit", top, ended)) if ended else tuple(rows)


def broker_class(broker: int) -> str:
    """CSS class of a broker's colour; -1: no leader."""
    return "no-leader" if broker < 0 else f"broker-{(broker - 1) % BROKER_COLOURS}"


def partition_rows(scale: Scale, y: float, replicas: int) -> tuple[PartitionRow, ...]:
    """The strips of all partitions, the first one at `y`."""
    strips, thinnest = scale.timeline.strips, _THINNEST
    spans = [span for strip in strips for span in strip.spans]
    if len(spans) > MOST_SPANS:
        # If more than `MOST_SPANS` stretches have the smallest width, none of that width is drawn.
        widths = sorted((scale.x(span.to_ns) - scale.x(span.from_ns) for span in spans), reverse=True)
        thinnest = max(thinnest, widths[MOST_SPANS] + 0.05)
    return tuple(
        _partition_row(scale, thinnest, strip, y + STRIP_PITCH * number, replicas)
        for number, strip in enumerate(strips)
    )


def _partition_row(scale: Scale, thinnest: float, strip: Strip, y: float, replicas: int) -> PartitionRow:
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
        fitting = next((text for text in (who, short) if len(text) * LETTER + 4 <= width), "")
        label = fitting if span.leader != named else ""
        named = span.leader if fitting else named
        hint = f"partition {strip.partition}: {who}, leader epoch {span.epoch}, ISR of {span.isr}"
        leaders.append(Box(left, y, width, STRIP_HEIGHT, broker_class(span.leader), label, hint))
        top = round(base - ISR_HEIGHT * min(1.0, max(0, span.isr) / replicas), 1)
        points += [f"{left},{base}", f"{left},{top}", f"{right},{top}", f"{right},{base}"]
        if span.isr != isr_named and left >= free_from and width >= 2 * LETTER:
            labels.append(Tick(left + 3, f"ISR {span.isr}" if width >= 7 * LETTER else str(span.isr)))
            isr_named, free_from = span.isr, left + 7 * LETTER
    middle = y + STRIP_HEIGHT + 1 + ALIVE_HEIGHT / 2
    return PartitionRow(
        label=f"p{strip.partition}",
        y=y,
        leaders=tuple(leaders),
        alive=_alive(scale, strip.successes, middle),
        isr=" ".join(points),
        isr_labels=tuple(labels),
    )


def _alive(scale: Scale, successes: Sequence[int], y: float) -> str:
    """A level SVG path over the buckets with at least one success report."""
    path = []
    was = False
    for index, count in enumerate((*successes, 0)):
        if (count > 0) != was:
            x = scale.edge(index)
            path.append(f"H{x}" if was else f"M{x} {y}")
            was = not was
    return "".join(path)
