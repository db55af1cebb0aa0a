"""How often an exploration put each promise to the test, and what that says about its failures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from checkers import bounds_of, share_of
from harness.model.result import FindingClass, VerdictWord
from harness.model.run import RunMeta

_NEEDS: tuple[tuple[str, Callable[[RunMeta], bool]], ...] = (
    ("aborted_read torn_transaction", lambda meta: meta.transactional),
    (
        "invented premature unprocessed reprocessed reordered_output",
        lambda meta: meta.application is not None,
    ),
    ("vanished skipped nonmonotonic_read", lambda meta: bool(meta.readers)),
    (
        "commit_lost commit_ahead commit_stale two_owners foreign_commit",
        lambda meta: any(one.group is not None for one in meta.readers),
    ),
    (
        "share_lost share_again share_archived_unseen share_stuck share_double_lease share_over_limit",
        lambda meta: bool(meta.share),
    ),
)
"""What a run needs so that it can have findings of these classes; the others any run can have."""
_POSSIBLE = {FindingClass(name): needs for names, needs in _NEEDS for name in names.split()}


def promised(meta: RunMeta) -> tuple[FindingClass, ...]:
    """The classes of which this run may have no finding, and could have one."""
    return tuple(
        one
        for one, bound in bounds_of(meta).items()
        if bound.high == 0 and (one not in _POSSIBLE or _POSSIBLE[one](meta))
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
            yield Tried(finding, count, failed, share_of(failed, count).interval.high or 1.0)
