"""What `kafka-chaos compare` prints."""

from __future__ import annotations

from collections.abc import Iterator

from checkers import difference
from harness.matrix.compare import Comparison, Measured
from harness.matrix.result import MatrixResult
from harness.page.blocks import Block, Cell, Lines, Status, Table, grid
from harness.report.arms_table import three_digits

_STATUSES: dict[str, Status] = {"worse": "bad", "no worse": "good", "cannot tell": "unclear"}


def comparison(base: MatrixResult, new: MatrixResult, found: Comparison) -> tuple[Block, ...]:
    """Runs with loss in both results, every measure that was compared, and the result in sentences."""
    return _shares(base, new), _measures(found), Lines(list(lines(found)))


def _shares(base: MatrixResult, new: MatrixResult) -> Table:
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


def _measures(found: Comparison) -> Table:
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


def lines(found: Comparison) -> Iterator[str]:
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
