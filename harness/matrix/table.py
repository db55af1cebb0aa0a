"""The figures of a matrix as a table, and the notes below it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.matrix.export import axes_of
from harness.matrix.result import ArmFigures, MatrixArmResult, MatrixResult, RateFigure, ShareFigure
from harness.page.blocks import Table
from harness.report.arms_table import UNCONFIRMED_NOTE, three_digits

COLUMNS = ("runs", "with loss", "95 %", "lost / M", "duplicates / M", "unavailable s", "as promised")
_NARROW = (
    ("lost / M", "lost /\nmillion"),
    ("duplicates / M", "dupli-\ncates /\nmillion"),
    ("unavailable s", "unavail-\nable s"),
    ("as promised", "as\npromised"),
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
        f"({share.k} of {share.n})" if aside else f"{share.k} of {share.n}",
        interval_of(share),
        f"({rate(lost)})" if aside else rate(lost),
        rate(figures.duplicates_per_million),
        "-" if seconds is None else f"{seconds:.1f}",
        f"{figures.as_promised.k} of {figures.as_promised.n}",
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
    axes = axes_of(result)
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
