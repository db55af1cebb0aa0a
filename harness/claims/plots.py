"""Charts of the measurements of claims, and tables of arms side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median_high

from markupsafe import Markup

from harness.page.line_chart import LineChart, svg
from harness.page.markdown import cell, table
from harness.suite.model import Role, SuiteArmResult, SuiteResult


def elections(results: Sequence[SuiteResult]) -> LineChart:
    """R9: seconds until every partition has a leader, by the number of partitions; a dot is one run."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        for arm in result.arms:
            partitions = re.search(r"\d+$", arm.arm)
            seconds = next((row.number for row in arm.rows if row.number is not None), None)
            if seconds is not None and partitions is not None:
                fault = "kill" if arm.role is Role.CLAIM else "stop"
                lines.setdefault(fault, []).append((float(partitions.group()), seconds))
    return LineChart(
        "Time until every partition has a new leader",
        "partitions (all led by the broker that ends)",
        "seconds",
        {fault: _medians(points) for fault, points in lines.items()},
        log_x=True,
    )


def draw(results: Sequence[SuiteResult]) -> dict[str, Markup]:
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
    return [(x, median_high(ys)) for x, ys in sorted(by_x.items())]


def acknowledgements(result: SuiteResult) -> LineChart:
    """R10: acknowledged records per second while the leader ends."""
    lines = {arm.arm: arm.curve for arm in result.arms if arm.curve}
    return LineChart("Acknowledgements while the leader ends", "seconds", "acked/s", lines, dots=False)


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
