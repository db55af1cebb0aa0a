"""The printed table: one line per measurement, the growth over the sizes, and Jepsen's published cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tests.bench.checker.measure import Measurement

JEPSEN = (
    "Jepsen's checker, as published: 1,000,000 sends over 12 partitions, 2 cores: 170 s, 14.6 GB "
    "(one process; quoted, not run here)"
)

_HEAD = (
    "tool",
    "history",
    "sends",
    "rows",
    "start s",
    "cold s",
    "warm s",
    "spread",
    "cpu s",
    "rows/s",
    "peak MiB",
)


def lines(measured: Sequence[Measurement]) -> list[str]:
    """The table, the largest size last, and below it growth and the heavy histories against the clean one."""
    rows = [_HEAD, *(_row(one) for one in measured)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    table = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return [*table, "", JEPSEN, *_growth(measured), *_heavy(measured)]


def warm(one: Measurement) -> float:
    """Median of the passes after the first; of a single pass, that one."""
    return statistics.median(one.answer.seconds[1:] or one.answer.seconds)


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Slope of the line through (size, seconds) on two logarithmic axes: 1 is linear growth.

    Raises:
        ValueError: fewer than two sizes.
    """
    return statistics.linear_regression(
        [math.log(size) for size, _ in points], [math.log(seconds) for _, seconds in points]
    ).slope


def _row(one: Measurement) -> tuple[str, ...]:
    seconds = one.answer.seconds
    later = seconds[1:]
    spread = f"{min(later):.2f}-{max(later):.2f}" if later else "-"
    return (
        one.tool,
        one.shape,
        f"{one.records:,}",
        f"{one.rows:,}",
        f"{one.answer.start_seconds:.1f}",
        f"{seconds[0]:.2f}",
        f"{warm(one):.2f}" if later else "-",
        spread,
        f"{statistics.median(one.answer.cpu_seconds[1:] or one.answer.cpu_seconds):.1f}",
        f"{one.rows / warm(one):,.0f}",
        f"{one.answer.peak_mib:,.0f}",
    )


def _growth(measured: Sequence[Measurement]) -> list[str]:
    lines = []
    for tool in dict.fromkeys(one.tool for one in measured):
        points = [(one.rows, warm(one)) for one in measured if one.tool == tool and one.shape == "clean"]
        if len({size for size, _ in points}) > 1:
            lines.append(f"growth of {tool} over clean histories: rows^{exponent(points):.2f}")
    return lines


def _heavy(measured: Sequence[Measurement]) -> list[str]:
    """The seconds per row of each heavy history, relative to the clean history that is closest in size."""
    lines = []
    for one in measured:
        clean = [other for other in measured if other.tool == one.tool and other.shape == "clean"]
        if one.shape == "clean" or not clean:
            continue
        base = min(clean, key=lambda other: abs(math.log(other.rows / one.rows)))
        ratio = (warm(one) / one.rows) / (warm(base) / base.rows)
        lines.append(f"{one.tool}, {one.shape}: {ratio:.2f} times the seconds per row of the clean history")
    return lines
