"""Heat maps of a matrix: a measure over all arms, one cell per arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.matrix.export import axes_of
from harness.matrix.result import ArmFigures, MatrixResult, ShareFigure
from harness.matrix.table import interval_of, loss_of, reasons
from harness.page.blocks import AnyCell, Cell, Section, Table, Text, section

ONE_SIDED = (
    '"from 55 %": every run showed it, and there are so few runs that the true share may still be as low as '
    '55 %. "up to 45 %": no run showed it, and the true share may still be as high as 45 %: it is not known '
    "to be zero."
)

CellOf = Callable[[ArmFigures], Cell | None]
"""Makes the cell of an arm from its figures; None: the figures have no value for it."""


def heat_maps(result: MatrixResult) -> tuple[Section, ...]:
    """Shares of runs with loss and with duplicates, and how long nothing could be written."""
    figures = [arm.figures for arm in result.arms if arm.figures is not None]
    longest = max((one.unavailable_seconds.median or 0.0 for one in figures), default=0.0)
    lost = (
        "k of n runs, with the 95 % interval of the share; in brackets where nothing was acknowledged by a "
        "broker (acks=0): unconfirmed and absent."
    )
    duplicates = "k of n runs, with the 95 % interval of the share."
    seconds = "Median over runs of the longest stretch in any partition; the interval encloses the median."
    return (
        _map(result, "Runs that lost acknowledged records", lost, _loss),
        _map(result, "Runs with duplicates", duplicates, lambda one: _share(one.with_duplicates)),
        _map(result, "Seconds without a success report", seconds, lambda one: _seconds(one, longest)),
    )


def _map(result: MatrixResult, title: str, explanation: str, cell_of: CellOf) -> Section:
    """One measure over all arms: the last axis goes across, the others down."""
    *down, across = axes_of(result) or [""]
    noted = {reason: number for number, reason in enumerate(reasons(result), 1)}
    found: dict[str, dict[str, Cell]] = {}
    for arm in result.arms:
        cell = cell_of(arm.figures) if arm.figures is not None and arm.figures.runs else None
        if cell is None:
            cell = Cell("no run counts" if arm.state == "ran" else arm.state, strong=True)
            if arm.reason is not None:
                number = noted[arm.state, arm.reason]
                cell = replace(cell, below=f"note {number}", link=f"#note-{number}")
        label, level = ", ".join(arm.labels[axis] for axis in down), arm.labels[across]
        coordinates = (label, f"{across}: {level}") if down else (level, "all")
        found.setdefault(coordinates[0], {})[coordinates[1]] = cell
    cells = [cell for row in found.values() for cell in row.values()]
    bounded = any(cell.below.startswith(("from ", "up to ")) for cell in cells)
    columns = list(dict.fromkeys(column for row in found.values() for column in row))
    rows: list[tuple[AnyCell, ...]] = [
        (label, *(row.get(column, "not in the matrix") for column in columns)) for label, row in found.items()
    ]
    table = Table((", ".join(down) or across, *columns), rows, look="heat")
    about = Text(f"{explanation} {ONE_SIDED}" if bounded else explanation, note=True)
    return section(title, about, table, id=title.lower().replace(" ", "-"), only="html")


def _loss(figures: ArmFigures) -> Cell:
    share, _, aside = loss_of(figures)
    cell = _share(share)
    return replace(cell, text=f"({cell.text})") if aside else cell


def _share(share: ShareFigure) -> Cell:
    heat = round(100 * share.k / share.n)
    return Cell(f"{share.k} of {share.n}", strong=True, below=interval_of(share), heat=heat)


def _seconds(figures: ArmFigures, longest: float) -> Cell | None:
    found = figures.unavailable_seconds
    if found.median is None:
        return None
    known = found.low is not None and found.high is not None
    interval = f"{found.low:.1f} to {found.high:.1f} s" if known else "too few runs for an interval"
    heat = round(100 * found.median / longest) if longest else 0
    return Cell(f"{found.median:.1f} s", strong=True, below=interval, heat=heat)
