"""What a report says of a workload beside the records that were sent and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.model.result import ArmResult, Summary
from harness.model.run import RunMeta
from harness.report.page.blocks import Table


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that a workload did at one time: a mark on the timeline, with its words."""

    at_ns: int
    words: str


@dataclass(frozen=True)
class WorkloadWords:
    """The words of one workload; those that it has not say nothing.

    Attributes:
        name: what stands before its sentence.
        sentence: what became of it in one arm (None: nothing is to be said).
        moments: what it did by itself.
        counts: tables of what the check has counted.
        events: tables of what happened during the run.
    """

    name: str
    sentence: Callable[[ArmResult], str | None] = lambda _: None
    moments: Callable[[RunMeta], tuple[Moment, ...]] = lambda _: ()
    counts: Callable[[Summary], tuple[Table, ...]] = lambda _: ()
    events: Callable[[RunMeta], tuple[Table, ...]] = lambda _: ()
