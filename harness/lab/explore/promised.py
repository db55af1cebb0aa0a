"""How often an exploration put each promise to the test, and what that says about its failures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from checkers import bounds_of, share_of
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord
from harness.model.run import RunMeta

_OF_SUBJECT: dict[str, Callable[[RunMeta], bool]] = {
    "output": lambda meta: meta.application is not None,
    "delivery": lambda meta: bool(meta.readers),
    "group": lambda meta: any(reader.group is not None for reader in meta.readers),
    "share": lambda meta: bool(meta.share),
    "id": lambda meta: meta.ids is not None,
}
"""What a run needs so that it can have findings about a subject; those about the others any run can have."""
_OF_CLASS: dict[FindingClass, Callable[[RunMeta], bool]] = {
    FindingClass.ABORTED_READ: lambda meta: meta.transactional,
    FindingClass.TORN_TRANSACTION: lambda meta: meta.transactional,
    FindingClass.VANISHED: lambda meta: bool(meta.readers),
}
"""The same of single classes about records."""


def promised(meta: RunMeta) -> tuple[FindingClass, ...]:
    """The classes of which this run may have no finding, and could have one."""
    # It loads PySpark, which the check of the run has loaded by then, and a report does not need.
    from checkers import CLASSES

    needs = {row.finding: _OF_SUBJECT[row.subject] for row in CLASSES if row.subject in _OF_SUBJECT}
    needs |= _OF_CLASS
    return tuple(
        finding
        for finding, bound in bounds_of(meta).items()
        if bound.high == 0 and (finding not in needs or needs[finding](meta))
    )


@dataclass(frozen=True, slots=True)
class Tried:
    """A promise: that there is no finding of a class. In `broken` of `runs` runs that were decided there was
    one. `high` is the upper end of the 95 % interval of the share of such runs (Clopper and Pearson), over
    schedules as they were drawn."""

    finding: FindingClass
    runs: int
    broken: int
    high: float


def tried(
    runs: Iterable[tuple[VerdictWord, tuple[FindingClass, ...], tuple[FindingClass, ...]]],
) -> Iterator[Tried]:
    """Each promise that was put to the test, in the order of the classes.

    Args:
        runs: the verdict of each run, what it promised, and which of that it broke. Those with an unknown
            verdict decide nothing.
    """
    decided = [(made, broken) for verdict, made, broken in runs if verdict is not VerdictWord.UNKNOWN]
    for finding in FindingClass:
        count = sum(finding in made for made, _ in decided)
        failed = sum(finding in made and finding in broken for made, broken in decided)
        if count:
            yield Tried(finding, count, failed, share_of(failed, count).high)
