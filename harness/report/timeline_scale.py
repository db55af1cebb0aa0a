"""Times and rates as coordinates of a drawing, and the shapes that all of its parts have."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.report.timeline import Timeline

WIDTH, LEFT, RIGHT = 960, 64, 12
PLOT_HEIGHT = 190
LETTER = 6.6
"""Approximate width of a letter in labels, in units of the view box."""


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

    origin_ns: int
    seconds: float
    top: float
    most: float

    def x(self, at_ns: int) -> float:
        share = (at_ns - self.origin_ns) / 1e9 / self.seconds
        return round(LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, rate: float) -> float:
        return round(self.top + PLOT_HEIGHT * (1 - math.sqrt(rate / self.most)), 1)

    def edge(self, timeline: Timeline, index: int) -> float:
        """Where a bucket begins."""
        return self.x(timeline.origin_ns + index * timeline.bucket_ns)
