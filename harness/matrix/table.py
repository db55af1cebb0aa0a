"""The figures of a matrix as a table with notes below it, and as heat maps: a measure over all arms, one cell
per arm. And what `kafka-chaos compare` prints of two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from checkers import difference
from harness.matrix.compare import Comparison, Measured
from harness.matrix.result import ArmFigures, MatrixArmResult, MatrixResult, RateFigure, ShareFigure
from harness.page.blocks import AnyCell, Block, Cell, Lines, Section, Status, Table, Text, grid, section
from harness.report.arms_table import UNCONFIRMED_NOTE, three_digits

COLUMNS = ("runs", "with loss", "95 %", "lost / M", "duplicates / M", "unavailable s", "as promised")
_NARROW = (
    ("lost / M", "lost /\nmillion"),
    ("duplicates / M", "dupli-\ncates /\nmillion"),
    ("unavailable s", "unavail-\nable s"),
    ("as promised", "as\npromised"),
)
_STATUSES: dict[str, Status] = {"worse": "bad", "no worse": "good", "cannot tell": "unclear"}
ONE_SIDED = (
    '"from 55 %": every run showed it, and there are so few runs that the true share may still be as low as '
    '55 %. "up to 45 %": no run showed it, and the true share may still be as high as 45 %: it is not known '
    "to be zero."
)


def cells(arm: MatrixArmResult) -> tuple[str, ...]:
    """An arm's cells under COLUMNS. Of acks=0 loss is in brackets: unconfirmed and absent."""
    figures = arm.figures
    if arm.state in ("refused", "impossible") or figures is None:
        return (arm.state, *("-" for _ in COLUMNS[1:]))
    if not figures.runs:
        return (f"0 (+{figures.left_out})", *("-" for _ in COLUMNS[1:]))
    share, lost, aside = loss_of(figures)
    seconds = figures.unavailable_seconds.median
    return (
        f"{figures.runs} (+{figures.left_out})" if figures.left_out else f"{figures.runs}",
        f"({share})" if aside else f"{share}",
        interval_of(share),
        f"({rate(lost)})" if aside else rate(lost),
        rate(figures.duplicates_per_million),
        "-" if seconds is None else f"{seconds:.1f}",
        f"{figures.as_promised}",
    )


def loss_of(figures: ArmFigures) -> tuple[ShareFigure, RateFigure, bool]:
    """The share of runs with loss, its rate, and whether they stand in brackets: of acks=0, where no broker
    acknowledged anything, what is unconfirmed and absent counts."""
    if figures.unconfirmed_absent_per_million.records > 0:
        return figures.with_unconfirmed_absent, figures.unconfirmed_absent_per_million, True
    return figures.with_loss, figures.lost_per_million, False


def interval_of(share: ShareFigure) -> str:
    """`15 to 95 %`; `up to 45 %` where nothing was seen, `from 55 %` where it was seen in every run."""
    if share.one_sided and not share.k:
        return f"up to {share.high:.0%}"
    if share.one_sided:
        return f"from {share.low:.0%}"
    return f"{share.low:.0%} to {share.high:.0%}"


def rate(figure: RateFigure) -> str:
    """Per million, to three digits or so."""
    return "-" if figure.value is None else three_digits(figure.value)


def table(result: MatrixResult) -> Table:
    """One row per arm; its level on each axis has its own column."""
    axes = result.axes
    rows = [(arm, cells(arm)) for arm in result.arms]
    return Table(
        (*axes, *COLUMNS),
        [(*(arm.labels[axis] for axis in axes), *row) for arm, row in rows],
        note=UNCONFIRMED_NOTE if any("(" in "".join(row[1:]) for _, row in rows) else "",
        right=COLUMNS,
        no_wrap=COLUMNS,
        headers=_NARROW,
        heads=len(axes),
        cards=True,
    )


def notes(result: MatrixResult) -> Iterator[str]:
    """What the table does not show: runs that are left out, intervals of rates."""
    for arm in result.arms:
        for line in arm.left_out:
            yield f"left out: {arm.name}, {line}"
        if arm.figures is not None and (rates := _rates(arm.figures)):
            yield f"{arm.name}: {rates}"
    if result.ended == "budget spent":
        yield "the budget was spent before all runs were made; `--resume` with a larger one goes on"


def reasons(result: MatrixResult) -> dict[tuple[str, str], str]:
    """Each state and reason for which arms did not run, once, with a note that names all of these arms."""
    names: dict[tuple[str, str], list[str]] = {}
    for arm in result.arms:
        if arm.reason is not None:
            names.setdefault((arm.state, arm.reason), []).append(arm.name)
    why = {"refused": "refused by the client"}
    return {
        key: f"{', '.join(arms)}: {why.get(key[0], 'not possible on this machine')}: {key[1]}"
        for key, arms in names.items()
    }


def _rates(figures: ArmFigures) -> str:
    parts = []
    for what, one in (
        ("lost", figures.lost_per_million),
        ("unconfirmed and absent", figures.unconfirmed_absent_per_million),
        ("duplicates", figures.duplicates_per_million),
    ):
        if one.events and one.low is not None and one.high is not None:
            parts.append(f"{rate(one)} {what} per million ({one.low:,.0f} to {one.high:,.0f})")
    return ", ".join(parts)


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


def _map(
    result: MatrixResult, title: str, explanation: str, cell_of: Callable[[ArmFigures], Cell | None]
) -> Section:
    """One measure over all arms: the last axis goes across, the others down. `cell_of` None: no value."""
    *down, across = result.axes or [""]
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
    return Cell(f"{share}", strong=True, below=interval_of(share), heat=heat)


def _seconds(figures: ArmFigures, longest: float) -> Cell | None:
    found = figures.unavailable_seconds
    if found.median is None:
        return None
    known = found.low is not None and found.high is not None
    interval = f"{found.low:.1f} to {found.high:.1f} s" if known else "too few runs for an interval"
    heat = round(100 * found.median / longest) if longest else 0
    return Cell(f"{found.median:.1f} s", strong=True, below=interval, heat=heat)


def comparison(base: MatrixResult, new: MatrixResult, found: Comparison) -> tuple[Block, ...]:
    """Runs with loss in both results, every measure that was compared, and the result in sentences."""
    return _compared_shares(base, new), _compared_measures(found), Lines(list(_sentences(found)))


def _compared_shares(base: MatrixResult, new: MatrixResult) -> Table:
    columns = ("arm", "base", "new", "difference", "95 %")
    before, after = (
        {arm.name: arm.figures.with_loss for arm in one.arms if arm.figures is not None and arm.figures.runs}
        for one in (base, new)
    )
    rows = []
    for name, share in after.items():
        if name in before:
            gap, interval = difference(share.k, share.n, before[name].k, before[name].n)
            spread = f"{interval.low:+.0%} to {interval.high:+.0%}"
            rows.append((name, f"{before[name]}", f"{share}", f"{gap:+.0%}", spread))
    return Table(columns, rows, title="Runs with loss", right=columns[1:])


def _compared_measures(found: Comparison) -> Table:
    columns, rows = grid(
        {
            "arm": one.arm,
            "measure": one.measure,
            "base": three_digits(one.base),
            "new": three_digits(one.new),
            "difference (95 %)": _gap(one),
            "p": f"{one.p:.2g}",
            "": Cell(one.verdict, _STATUSES[one.verdict], strong=one.verdict == "worse"),
        }
        for one in found.measured
    )
    return Table(columns, rows, title="Is the new one worse?", right=columns[2:6])


def _sentences(found: Comparison) -> Iterator[str]:
    """The result of the comparison in sentences."""
    for breach in found.breaches:
        bounds = f"{breach.bound} is {three_digits(breach.found)}, allowed {three_digits(breach.allowed)}"
        yield f"SLO broken: {breach.arm}: {bounds}"
    for one in found.worse:
        change = f"from {three_digits(one.base)} to {three_digits(one.new)} (p = {one.p:.2g})"
        yield f"worse: {one.arm}: {one.measure} {change}"
    for line in found.missing:
        yield f"not compared: {line}"
    for line in found.left_out:
        yield f"left out: {line}"
    if found.runs_for_a_verdict is not None:
        yield (
            f"`cannot tell`: with so few runs no difference can be distinguished from chance, because "
            f"all tests share {found.alpha:.0%}; make at least {found.runs_for_a_verdict} runs per side"
        )
    if not found.worse and not found.breaches:
        each = f"at {found.level:.2g} for each of {found.tests} tests, {found.alpha:.0%} in all"
        yield f"no arm is worse ({each})"


def _gap(one: Measured) -> str:
    if one.gap is None:
        return "-"
    if one.low is None or one.high is None:
        return f"{one.gap:+,.1f}"
    return f"{one.gap:+,.1f} ({one.low:+,.1f} to {one.high:+,.1f})"
