"""Which findings broke a run, and how much of everything is covered."""

from __future__ import annotations

from collections.abc import Collection

from checkers import bounds_of
from harness.explore.coverage import Coverage, all_cells, all_pairs, all_under
from harness.explore.menu import ExploreMenu
from harness.explore.result import CoverageResult, Covered
from harness.model.result import ArmResult, FindingClass


def broken_in(result: ArmResult) -> tuple[FindingClass, ...]:
    """The classes of findings that exceed what the run's settings allow."""
    meta, summary = result.meta, result.summary
    if summary is None:
        return ()
    ordered = meta.idempotent or meta.max_in_flight == 1
    guarantee = meta.application.guarantee if meta.application is not None else None
    bounds = bounds_of(meta.promise, idempotent=meta.idempotent, ordered=ordered, guarantee=guarantee)
    return tuple(finding for finding, bound in bounds.items() if bound.exceeded(summary.count(finding)))


def coverage_result(menu: ExploreMenu, coverage: Coverage, left_out: Collection[str] = ()) -> CoverageResult:
    """Everything that can be covered, in the menu's order, with how often it was."""
    names = [fault.name for fault in menu.faults if fault.name not in left_out]
    return CoverageResult(
        phases=tuple(
            Covered(what=(name, phase.value), times=coverage.cells[name, phase])
            for name, phase in all_cells(menu, names)
        ),
        pairs=tuple(Covered(what=pair, times=coverage.pairs[pair]) for pair in all_pairs(menu, names)),
        levels=tuple(Covered(what=one, times=coverage.under[one]) for one in all_under(menu, names)),
    )
