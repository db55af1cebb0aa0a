"""Lines through points as a small SVG file, with colours of its own and without scripts or requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 500, 36, 274
_COLOURS = ("#c0392b", "#2471a3", "#1e8449", "#7d3c98")
_HEAD = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" font-family="sans-serif" '
    'font-size="12">\n<title>{}</title>\n<rect width="{}" height="{}" fill="#ffffff"/>'
)
_TEXT = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="{}" fill="{}">{}</text>')
_GRID = Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#dddddd"/>')
_LINE = Markup('<polyline points="{}" fill="none" stroke="{}" stroke-width="2"/>')
_DOT = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>')


@dataclass(frozen=True)
class LineChart:
    """Lines through points, by the name of the line. `log_x`: the horizontal axis is logarithmic."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Points]
    log_x: bool = False
    dots: bool = True


@dataclass(frozen=True)
class _Axis:
    """Converts values from `least` to `most` to coordinates from `begin` to `end`."""

    least: float
    most: float
    begin: float
    end: float
    log: bool
    ticks: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float], begin: float, end: float, *, log: bool = False) -> _Axis:
        least, most = min(values, default=0.0), max(values, default=1.0)
        if log:
            first, last = math.floor(math.log10(least)), math.floor(math.log10(most))
            ticks = tuple(float(10**power) for power in range(first, last + 1))
            return cls(min(least, ticks[0]), max(most, least * 10), begin, end, log, ticks)
        step = round_step(most - least)
        top = math.ceil(most / step) * step
        ticks = tuple(round(number * step, 6) for number in range(round(least / step), round(top / step) + 1))
        return cls(least, top, begin, end, log, ticks)

    def at(self, value: float) -> float:
        measure = math.log10 if self.log else float
        share = (measure(value) - measure(self.least)) / (measure(self.most) - measure(self.least))
        return self.begin + share * (self.end - self.begin)


def round_step(span: float) -> float:
    """A round step that gives about five ticks."""
    rough = max(span, 1e-9) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def svg(chart: LineChart) -> Markup:
    """The chart as an SVG document; every text in it is escaped."""
    points = [point for line in chart.lines.values() for point in line]
    across = _Axis.of([x for x, _ in points], _LEFT, _RIGHT, log=chart.log_x)
    upward = _Axis.of([0.0, *(y for _, y in points)], _BOTTOM, _TOP)
    out = [
        _HEAD.format(_WIDTH, _HEIGHT, chart.title, _WIDTH, _HEIGHT),
        _text(_LEFT, 20, chart.title, size=14),
        _text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, chart.x, anchor="middle"),
        _text(14, _TOP - 8, chart.y),
    ]
    for tick in across.ticks:
        x = across.at(tick)
        out += [_GRID.format(x, _TOP, x, _BOTTOM), _text(x, _BOTTOM + 16, f"{tick:,g}", anchor="middle")]
    for tick in upward.ticks:
        y = upward.at(tick)
        out += [_GRID.format(_LEFT, y, _RIGHT, y), _text(_LEFT - 6, y + 4, f"{tick:,g}", anchor="end")]
    for number, (name, line) in enumerate(chart.lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = [(across.at(x), upward.at(y)) for x, y in line]
        out.append(_LINE.format(" ".join(f"{x:.1f},{y:.1f}" for x, y in points), colour))
        out += [_DOT.format(x, y, colour) for x, y in points if chart.dots]
        out.append(_text(_RIGHT + 12, _TOP + 12 + 18 * number, name, colour=colour))
    return Markup("\n").join([*out, Markup("</svg>\n")])


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, colour: str = "#222222"
) -> Markup:
    return _TEXT.format(x, y, anchor, size, colour, words)
