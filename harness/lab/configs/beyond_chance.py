"""Which differences between files are more than chance: each compared with each over runs, both ways."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from checkers import ALPHA
from harness.lab.configs.config_matrix import FAULT, FILE
from harness.many.matrix.compare import MatrixComparison, MeasureComparison, compare
from harness.many.matrix.result import MatrixResult
from harness.report.arms_table import three_digits


def beyond_chance(result: MatrixResult) -> Iterator[str]:
    """A sentence about each difference between two files under a fault that chance would not make, and about
    those where too few runs were made to know.

    All pairs of files and both directions share one probability of a false alarm.
    """
    files = list(dict.fromkeys(arm.labels[FILE] for arm in result.arms))
    pairs = [pair for pair in combinations(files, 2) if _common(result, *pair)]
    found = [
        _compared(result, base, new, ALPHA / (2 * len(pairs)))
        for one, other in pairs
        for base, new in ((one, other), (other, one))
    ]
    for comparison in found:
        yield from (_sentence(comparison, measured) for measured in comparison.worse)
    needed = [one.runs_for_a_verdict for one in found if one.runs_for_a_verdict is not None]
    known = any(comparison.worse for comparison in found)
    if needed:
        yield (
            f"{'other ' * known}differences cannot be told from chance with so few runs, because all tests "
            f"share {ALPHA:.0%}: make at least {max(needed)} runs of each"
        )
    elif found and not known:
        yield "no difference between the files is more than chance would make"


def _common(result: MatrixResult, one: str, other: str) -> set[str]:
    """The faults under which both files have a run that counts."""
    known = [
        {
            arm.labels[FAULT]
            for arm in result.arms
            if arm.labels[FILE] == file and any(run.counts for run in arm.runs)
        }
        for file in (one, other)
    ]
    return known[0] & known[1]


def _compared(result: MatrixResult, base: str, new: str, alpha: float) -> MatrixComparison:
    sides = [_of_file(result, file) for file in (base, new)]
    return compare(*sides, alpha=alpha, names=(base, new))


def _of_file(result: MatrixResult, file: str) -> MatrixResult:
    """The runs of one file, with the faults as names of arms."""
    arms = (arm for arm in result.arms if arm.labels[FILE] == file)
    named = tuple(arm.model_copy(update={"name": arm.labels[FAULT]}) for arm in arms)
    return result.model_copy(update={"arms": named})


def _sentence(comparison: MatrixComparison, one: MeasureComparison) -> str:
    more, less = (three_digits(value) for value in (one.new, one.base))
    values = f"{more} with {comparison.new}, {less} with {comparison.base}"
    return f"{one.arm}: {one.measure}: {values} (p = {one.p:.2g})"
