"""The measures of a matrix: bars with intervals where one axis varies, else a map with one cell per arm.

Nothing is coloured but what breaks a promise: that more was lost in one arm is often what was to be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from checkers import EventRate, Share
from harness.many.matrix.result import ArmFigures, MatrixArmResult, MatrixResult
from harness.many.matrix.table import (
    ONE_SIDED,
    SOME_LOST,
    SOME_LOST_NOTE,
    interval_of,
    loss_of,
    rate,
    reasons,
)
from harness.model.finding_class import FindingClass
from harness.report.arms_table import three_digits
from harness.report.page.bar_chart import Bar, bars_section
from harness.report.page.blocks import AnyCell, Block, Cell, Section, Table, Text, section


@dataclass(frozen=True, slots=True)
class _Figure:
    """One measure of one arm, in words and as numbers; `interval` is "" where there is none."""

    text: str
    interval: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class _Measure:
    """A measure: what it is `of` an arm (None: nothing), and the classes whose promise is about it."""

    title: str
    about: str
    of: Callable[[ArmFigures], _Figure | None]
    promised: tuple[FindingClass, ...] = ()
    most: float = 0.0
    unit: str = ""


def measures(result: MatrixResult) -> tuple[Block, ...]:
    """A section per measure: runs with loss and with duplicates, seconds without a success report, and with
    bars also the rates per million of which there are any."""
    axes = [axis for axis in result.axes if len({arm.labels[axis] for arm in result.arms}) > 1]
    if len(axes) > 1:
        return tuple(_map(result, axes, measure) for measure in _MEASURES)
    rates = [
        measure
        for measure in _RATES
        if any((figure := _figure(measure, arm)) and figure.value for arm in result.arms)
    ]
    drawn = (*_MEASURES[:2], *rates, *_MEASURES[2:])
    return tuple(_bars(result, axes or result.axes, measure) for measure in drawn)


def _figure(measure: _Measure, arm: MatrixArmResult) -> _Figure | None:
    return measure.of(arm.figures) if arm.figures is not None and arm.figures.runs else None


def _broken(measure: _Measure, arm: MatrixArmResult) -> str:
    """In how many runs of the arm the promise on this measure is broken; "" if in none."""
    counted = sum(run.counts and any(map(run.broke, measure.promised)) for run in arm.runs)
    return f"promise broken in {counted} run{'s' if counted > 1 else ''}" if counted else ""


def _label(arm: MatrixArmResult, axes: list[str]) -> str:
    return ", ".join(f"{axis}={arm.labels[axis]}" for axis in axes)


def _absent(arm: MatrixArmResult) -> str:
    return "no run counts" if arm.state == "ran" else arm.state


def _about(result: MatrixResult, measure: _Measure) -> str:
    figures = (_figure(measure, arm) for arm in result.arms)
    bounded = any(
        figure is not None and figure.interval.startswith(("from ", "up to ")) for figure in figures
    )
    return f"{measure.about} {ONE_SIDED}" if bounded else measure.about


def _id(measure: _Measure) -> str:
    return measure.title.lower().replace(" ", "-")


def _bars(result: MatrixResult, axes: list[str], measure: _Measure) -> Block:
    bars = [_bar(arm, _label(arm, axes), measure) for arm in result.arms]
    about, id = _about(result, measure), _id(measure)
    return bars_section(measure.title, about, bars, id=id, most=measure.most, unit=measure.unit)


def _bar(arm: MatrixArmResult, label: str, measure: _Measure) -> Bar:
    figure, broken = _figure(measure, arm), _broken(measure, arm)
    if figure is None:
        return Bar(label, _absent(arm))
    text = f"{figure.text} ({figure.interval})" if figure.interval else figure.text
    text = f"{text}, {broken}" if broken else text
    return Bar(label, text, figure.value, figure.low, figure.high, bool(broken))


def _map(result: MatrixResult, axes: list[str], measure: _Measure) -> Section:
    """One measure over all arms: the last axis goes across, the others down."""
    *down, across = axes
    noted = {reason: number for number, reason in enumerate(reasons(result), 1)}
    cells: dict[str, dict[str, Cell]] = {}
    for arm in result.arms:
        cell = _cell(arm, measure)
        if cell.text == arm.state and arm.reason is not None:
            number = noted[arm.state, arm.reason]
            cell = replace(cell, below=f"note {number}", link=f"#note-{number}")
        cells.setdefault(_label(arm, down), {})[_label(arm, [across])] = cell
    columns = list(dict.fromkeys(column for row in cells.values() for column in row))
    rows: list[tuple[AnyCell, ...]] = [
        (label, *(row.get(column, "not in the matrix") for column in columns)) for label, row in cells.items()
    ]
    table = Table((", ".join(down), *columns), rows, look="map")
    about = Text(_about(result, measure), note=True)
    return section(measure.title, about, table, id=_id(measure), only="html")


def _cell(arm: MatrixArmResult, measure: _Measure) -> Cell:
    figure, broken = _figure(measure, arm), _broken(measure, arm)
    if figure is None:
        return Cell(_absent(arm), strong=True)
    below = ", ".join(filter(None, (figure.interval or "too few runs for an interval", broken)))
    return Cell(figure.text, "bad" if broken else None, strong=True, below=below)


def _loss(figures: ArmFigures) -> _Figure:
    share, _, aside = loss_of(figures)
    figure = _share(share)
    return replace(figure, text=f"({figure.text})") if aside else figure


def _share(share: Share) -> _Figure:
    value = 100 * share.k / share.n
    return _Figure(f"{share}", interval_of(share), value, 100 * share.low, 100 * share.high)


def _seconds(figures: ArmFigures) -> _Figure | None:
    seconds = figures.unavailable_seconds
    if seconds.median is None:
        return None
    known = seconds.low is not None and seconds.high is not None
    interval = f"{seconds.low:.1f} to {seconds.high:.1f} s" if known else ""
    some_lost = SOME_LOST * bool(loss_of(figures)[0].k)
    return _Figure(f"{seconds.median:.1f} s{some_lost}", interval, seconds.median, seconds.low, seconds.high)


def _rate_of(name: str) -> Callable[[ArmFigures], _Figure | None]:
    """What is known of an arm's rate per million of this name."""

    def figure(figures: ArmFigures) -> _Figure | None:
        one: EventRate = getattr(figures, name)
        if one.value is None:
            return None
        ends = [three_digits(end) for end in (one.low, one.high) if one.events and end is not None]
        return _Figure(rate(one), " to ".join(ends), one.value, one.low, one.high)

    return figure


_ABOUT_RATES = "Over all runs, with the 95 % interval by a bootstrap over runs."
_MEASURES = (
    _Measure(
        "Runs that lost acknowledged records",
        "k of n runs, with the 95 % interval of the share; in brackets where nothing was acknowledged by a "
        "broker (acks=0): unconfirmed and absent.",
        *(_loss, (FindingClass.LOST, FindingClass.UNCONFIRMED_ABSENT), 100.0, " %"),
    ),
    _Measure(
        "Runs with duplicates",
        "k of n runs, with the 95 % interval of the share.",
        *(lambda figures: _share(figures.with_duplicates), (FindingClass.DUPLICATE,), 100.0, " %"),
    ),
    _Measure(
        "Seconds without a success report",
        "Median over runs of the longest stretch in any partition; the interval encloses the median. "
        f"{SOME_LOST_NOTE[0].upper()}{SOME_LOST_NOTE[1:]}",
        _seconds,
        unit=" s",
    ),
)
_RATES = tuple(
    _Measure(title, _ABOUT_RATES, _rate_of(f"{what}_per_million"), (finding,))
    for title, what, finding in (
        ("Lost per million acknowledged records", "lost", FindingClass.LOST),
        ("Absent per million unconfirmed records", "unconfirmed_absent", FindingClass.UNCONFIRMED_ABSENT),
        ("Duplicates per million records sent", "duplicates", FindingClass.DUPLICATE),
    )
)
