"""The figures of a matrix as a table with notes below it, and what `kafka-chaos compare` prints of two of
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checkers import EventRate, Share, difference
from harness.many.matrix.compare import MatrixComparison, MeasureComparison
from harness.many.matrix.result import ArmFigures, MatrixArmResult, MatrixResult
from harness.report.arms_table import UNCONFIRMED_NOTE, three_digits
from harness.report.page.blocks import AnyCell, Block, Cell, Lines, Status, Table, grid, text_of

COLUMNS = ("runs", "with loss", "95 %", "lost / M", "duplicates / M", "unavailable s", "as promised")
_NARROW = (
    ("lost / M", "lost /\nmillion"),
    ("duplicates / M", "dupli-\ncates /\nmillion"),
    ("unavailable s", "unavail-\nable s"),
    ("as promised", "as\npromised"),
)
SOME_LOST = ", some lost"
SOME_LOST_NOTE = (
    "some lost: the time counts the success reports of records that were lost afterwards, such as those of a "
    "leader that was cut off from the others, so it is no sign of availability."
)
_STATUSES: dict[str, Status] = {"worse": "bad", "no worse": "good", "cannot tell": "unclear"}
ONE_SIDED = (
    '"from 55 %": every run showed it, and there are so few runs that the true share may still be as low as '
    '55 %. "up to 45 %": no run showed it, and the true share may still be as high as 45 %: it is not known '
    "to be zero."
)


def cells(arm: MatrixArmResult) -> tuple[AnyCell, ...]:
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
        "-" if seconds is None else f"{seconds:.1f}{SOME_LOST * bool(share.k)}",
        Cell(f"{figures.as_promised}", "bad", strong=True)
        if arm.as_promised is False
        else f"{figures.as_promised}",
    )


def loss_of(figures: ArmFigures) -> tuple[Share, EventRate, bool]:
    """The share of runs with loss, its rate, and whether they stand in brackets: of acks=0, where no broker
    acknowledged anything, what is unconfirmed and absent counts."""
    if figures.unconfirmed_absent_per_million.records > 0:
        return figures.with_unconfirmed_absent, figures.unconfirmed_absent_per_million, True
    return figures.with_loss, figures.lost_per_million, False


def interval_of(share: Share) -> str:
    """`15 to 95 %`; `up to 45 %` where nothing was seen, `from 55 %` where it was seen in every run."""
    if share.one_sided and not share.k:
        return f"up to {share.high:.0%}"
    if share.one_sided:
        return f"from {share.low:.0%}"
    return f"{share.low:.0%} to {share.high:.0%}"


def rate(figure: EventRate) -> str:
    """Per million, to three digits or so."""
    return "-" if figure.value is None else three_digits(figure.value)


def table(result: MatrixResult) -> Table:
    """One row per arm; its level on each axis has its own column."""
    axes = result.axes
    rows = [(arm, cells(arm)) for arm in result.arms]
    return Table(
        (*axes, *COLUMNS),
        [(*(arm.labels[axis] for axis in axes), *row) for arm, row in rows],
        note=" ".join(_notes_on(["".join(map(text_of, row[1:])) for _, row in rows])),
        right=COLUMNS,
        no_wrap=COLUMNS,
        headers=_NARROW,
        heads=len(axes),
        cards=True,
    )


def _notes_on(rows: Sequence[str]) -> Iterator[str]:
    """What the marks in the table's cells mean."""
    if any("(" in row for row in rows):
        yield UNCONFIRMED_NOTE
    if any(SOME_LOST in row for row in rows):
        yield SOME_LOST_NOTE


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


def comparison(base: MatrixResult, new: MatrixResult, found: MatrixComparison) -> tuple[Block, ...]:
    """Runs with loss in both results, every measure that was compared, and the result in sentences."""
    return _compared_shares(base, new), _compared_measures(found), Lines(list(_sentences(found)))


def _compared_shares(base: MatrixResult, new: MatrixResult) -> Table:
    columns = ("arm", "base", "new", "difference", "95 %")
    before, after = (
        {
            arm.name: arm.figures.with_loss
            for arm in result.arms
            if arm.figures is not None and arm.figures.runs
        }
        for result in (base, new)
    )
    rows = []
    for name, share in after.items():
        if name in before:
            gap, interval = difference(share.k, share.n, before[name].k, before[name].n)
            spread = f"{interval.low:+.0%} to {interval.high:+.0%}"
            rows.append((name, f"{before[name]}", f"{share}", f"{gap:+.0%}", spread))
    return Table(columns, rows, title="Runs with loss", right=columns[1:], no_wrap=columns, cards=True)


def _compared_measures(found: MatrixComparison) -> Table:
    columns, rows = grid(
        {
            "arm": measured.arm,
            "measure": measured.measure,
            "base": three_digits(measured.base),
            "new": three_digits(measured.new),
            "difference (95 %)": _gap(measured),
            "p": f"{measured.p:.2g}",
            "verdict": Cell(
                measured.verdict, _STATUSES[measured.verdict], strong=measured.verdict == "worse"
            ),
        }
        for measured in found.measured
    )
    return Table(
        columns,
        rows,
        title="Is the new one worse?",
        right=columns[2:6],
        no_wrap=columns,
        heads=2,
        cards=True,
    )


def _sentences(found: MatrixComparison) -> Iterator[str]:
    """The result of the comparison in sentences."""
    for breach in found.breaches:
        bounds = f"{breach.bound} is {three_digits(breach.found)}, allowed {three_digits(breach.allowed)}"
        yield f"SLO broken: {breach.arm}: {bounds}"
    for measured in found.worse:
        change = f"from {three_digits(measured.base)} to {three_digits(measured.new)} (p = {measured.p:.2g})"
        yield f"worse: {measured.arm}: {measured.measure} {change}"
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


def _gap(one: MeasureComparison) -> str:
    if one.gap is None:
        return "-"
    if one.low is None or one.high is None:
        return f"{one.gap:+,.1f}"
    return f"{one.gap:+,.1f} ({one.low:+,.1f} to {one.high:+,.1f})"
