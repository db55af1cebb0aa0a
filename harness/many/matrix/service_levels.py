"""The bounds of a matrix's `slo:`, held against its arms: for `compare`, and as a table for its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter

from harness.many.matrix.result import MatrixArmResult, MatrixResult
from harness.many.matrix.spec import ServiceLevel, matches
from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.report.arms_table import three_digits
from harness.report.page.blocks import AnyCell, Cell, Section, Table, Text, section

_COLUMNS = ("arm", "bound", "allowed", "found", "kept")
_ABOUT = (
    "`lost`: records in any one run; the rates: over all runs; `unavailable_seconds`: the median over runs. "
    "Runs of verdict `unknown` count nowhere. The bounds decide the exit code of `kafka-chaos compare`, "
    "not that of the matrix."
)
_LEVELS = TypeAdapter(tuple[ServiceLevel, ...])


class HeldBound(Frozen):
    """A bound on an arm, and what its runs show; `found` None: no run says."""

    arm: str
    bound: str
    allowed: float
    found: float | None

    @property
    def kept(self) -> bool | None:
        return None if self.found is None else self.found <= self.allowed


def held_bounds(levels: Sequence[ServiceLevel], arms: Sequence[MatrixArmResult]) -> Iterator[HeldBound]:
    """Every bound on every arm that is not refused or impossible."""
    for arm in arms:
        for level in levels:
            if arm.state in ("ran", "waiting") and matches(level.at, arm.labels):
                found = _found(arm)
                for bound in ("lost", "lost_per_million", "duplicates_per_million", "unavailable_seconds"):
                    allowed: float | None = getattr(level, bound)
                    if allowed is not None:
                        yield HeldBound(arm=arm.name, bound=bound, allowed=allowed, found=found.get(bound))


def service_levels(result: MatrixResult) -> Section:
    """The section with each bound of each arm; empty if the matrix has none."""
    held = list(held_bounds(_LEVELS.validate_python(result.spec.get("slo", ())), result.arms))
    broken = sum(bound.kept is False for bound in held)
    words = f"Service levels (`slo`): {broken or 'none'} of {len(held)} broken."
    rows = [
        (bound.arm, bound.bound, three_digits(bound.allowed), _or_dash(bound.found), _KEPT[bound.kept])
        for bound in held
    ]
    about = Text(f"{words} {_ABOUT}" if held else "", note=True)
    table = Table(_COLUMNS, rows, right=_COLUMNS[2:4], no_wrap=_COLUMNS, heads=2, cards=True)
    return section("Service levels", about, table, id="slo")


_KEPT: dict[bool | None, AnyCell] = {
    True: Cell("yes", "good"),
    False: Cell("no", "bad", strong=True),
    None: Cell("unknown", "unclear"),
}


def _or_dash(found: float | None) -> str:
    return "-" if found is None else three_digits(found)


def _found(arm: MatrixArmResult) -> dict[str, float | None]:
    figures = arm.figures
    if figures is None or not figures.runs:
        return {}
    return {
        "lost": max(run.count(FindingClass.LOST) for run in arm.runs if run.counts),
        "lost_per_million": figures.lost_per_million.value,
        "duplicates_per_million": figures.duplicates_per_million.value,
        "unavailable_seconds": figures.unavailable_seconds.median,
    }
