"""Plots of the measurements of claims as small SVG files, and tables of arms side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from harness.report.markdown import cell, table
from harness.suite.model import Role, SuiteArmResult, SuiteResult

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 140, 36, 46
_COLOURS = ("#c0392b", "#2471a3", "#1e8449", "#7d3c98")


@dataclass(frozen=True)
class Plot:
    """Lines through points, by the name of the line. `log_x`: the horizontal axis is logarithmic."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Points]
    log_x: bool = False
    dots: bool = True


def svg(plot: Plot) -> str:
    """The plot as an SVG document, without scripts or requests."""
    points = [point for line in plot.lines.values() for point in line]
    across = _Axis.of([x for x, _ in points], _LEFT, _WIDTH - _RIGHT, log=plot.log_x)
    upward = _Axis.of([0.0, *(y for _, y in points)], _HEIGHT - _BOTTOM, _TOP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        ' font-family="sans-serif" font-size="12">',
        f"<title>{escape(plot.title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 20, plot.title, size=14),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, plot.x, anchor="middle"),
        _text(14, _TOP - 8, plot.y),
    ]
    for value in across.ticks:
        place = across.at(value)
        out.append(_line(place, _TOP, place, _HEIGHT - _BOTTOM, "#dddddd"))
        out.append(_text(place, _HEIGHT - _BOTTOM + 16, f"{value:,g}", anchor="middle"))
    for value in upward.ticks:
        place = upward.at(value)
        out.append(_line(_LEFT, place, _WIDTH - _RIGHT, place, "#dddddd"))
        out.append(_text(_LEFT - 6, place + 4, f"{value:,g}", anchor="end"))
    for number, (name, line) in enumerate(plot.lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [(across.at(x), upward.at(y)) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if plot.dots:
            out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        out.append(_text(_WIDTH - _RIGHT + 12, _TOP + 12 + 18 * number, name, colour=colour))
    return "\n".join([*out, "</svg>", ""])


@dataclass(frozen=True)
class _Axis:
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
            ticks = tuple(float(10**power) for power in range(_power(least), _power(most) + 1))
            return cls(min(least, ticks[0]), max(most, least * 10), begin, end, log, ticks)
        step = _step(most - least)
        top = math.ceil(most / step) * step
        ticks = tuple(round(number * step, 6) for number in range(round(least / step), round(top / step) + 1))
        return cls(least, top, begin, end, log, ticks)

    def at(self, value: float) -> float:
        measure = math.log10 if self.log else float
        share = (measure(value) - measure(self.least)) / (measure(self.most) - measure(self.least))
        return self.begin + share * (self.end - self.begin)


def _power(value: float) -> int:
    return math.floor(math.log10(value))


def _step(span: float) -> float:
    """A round step that gives about five ticks."""
    rough = max(span, 1e-9) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, colour: str = "#222222"
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" fill="{colour}">{escape(text)}</text>'


def elections(results: Sequence[SuiteResult]) -> Plot:
    """R9: seconds until every partition has a leader, by the number of partitions; a dot is one run."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        for arm in result.arms:
            partitions = re.search(r"\d+$", arm.arm)
            seconds = next((row.number for row in arm.rows if row.number is not None), None)
            if seconds is not None and partitions is not None:
                fault = "kill" if arm.role is Role.CLAIM else "stop"
                lines.setdefault(fault, []).append((float(partitions.group()), seconds))
    return Plot(
        "Time until every partition has a new leader",
        "partitions (all led by the broker that ends)",
        "seconds",
        {fault: _medians(points) for fault, points in lines.items()},
        log_x=True,
    )


def draw(results: Sequence[SuiteResult]) -> dict[str, str]:
    """An SVG document per claim, by its id, of those of these results that can be plotted."""
    drawings = {}
    curve = elections([result for result in results if result.id == "R9"])
    if curve.lines:
        drawings["R9"] = svg(curve)
    latest = next((result for result in reversed(results) if result.id == "R10"), None)
    if latest is not None and any(arm.curve for arm in latest.arms):
        drawings["R10"] = svg(acknowledgements(latest))
    return drawings


def _medians(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    by_x: dict[float, list[float]] = {}
    for x, y in points:
        by_x.setdefault(x, []).append(y)
    return [(x, sorted(ys)[len(ys) // 2]) for x, ys in sorted(by_x.items())]


def acknowledgements(result: SuiteResult) -> Plot:
    """R10: acknowledged records per second while the leader ends."""
    lines = {arm.arm: arm.curve for arm in result.arms if arm.curve}
    return Plot("Acknowledgements while the leader ends", "seconds", "acked/s", lines, dots=False)


def side_by_side(arms: Sequence[SuiteArmResult]) -> list[str]:
    """A Markdown table with one column per arm and one row per observation."""
    whats = list(dict.fromkeys(_common(row.what) for arm in arms for row in arm.findings))
    heads = [f"{arm.arm}{' (control)' if arm.role is Role.CONTROL else ''}" for arm in arms]
    seen = [{_common(row.what): row.seen for row in arm.rows} for arm in arms]
    rows = [(what, *(one.get(what, "-") for one in seen)) for what in whats]
    return table(("", *heads), rows, cell).splitlines()


def _common(what: str) -> str:
    """What was observed, without the number that differs from arm to arm."""
    return re.sub(r"^of [\d,]+ ", "", what)
