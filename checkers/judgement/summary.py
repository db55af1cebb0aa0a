"""The summary of a run, from the counts of its findings and of the reports of its sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from checkers.judgement.blame import NOT_COMMITTED, BlameGroup, blame
from harness.model.result import CountRow, Example, FindingClass, Summary
from harness.model.run import RunMeta

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True)
class FindingCounts:
    """Counts of the findings of a run.

    `totals` are numbers of findings by class, place, step and whether the leader's own files hold the record;
    they are complete. `count_rows` are the largest numbers by class, producer, partition, step and windows,
    `blame_groups` those by `BlameGroup`, the largest first. `extra_copies` is the number of copies beyond the
    first of all duplicates. `examples` are a few of each class, as columns of `harness.model.result.Example`.
    """

    totals: dict[tuple[str, str | None, int | None, bool], int] = field(default_factory=dict)
    count_rows: list[tuple[tuple[Any, ...], int]] = field(default_factory=list)
    blame_groups: list[tuple[BlameGroup, int]] = field(default_factory=list)
    extra_copies: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Reports:
    """The delivery reports of a run's sends: numbers of sends by outcome, of acknowledged ones by step index,
    and the longest time without a success report in any partition and write step."""

    outcomes: dict[str, int]
    acked_by_step: dict[int, int]
    unavailable_seconds: float

    @property
    def sends(self) -> int:
        return sum(self.outcomes.values())


def summarise(counts: FindingCounts, meta: RunMeta, reports: Reports, **fields: Any) -> Summary:
    """Summary of a run; `check_seconds` is left 0.0 for the caller to fill in.

    Args:
        counts: of all findings.
        reports: of all sends.
        fields: the other fields of the summary.
    """
    rows = [
        (FindingClass(name), str(place), step, held, number)
        for (name, place, step, held), number in counts.totals.items()
    ]
    by_class = _sums((finding, number) for finding, *_, number in rows)
    # A lost record was sent, so its step and place are known.
    lost = [row for row in rows if row[0] is FindingClass.LOST]
    absent = [row for row in lost if row[1] != NOT_COMMITTED]
    inspected = meta.final_read is not None and bool(meta.final_read.replicas_inspected)
    acked_by_step = {step.name: 0 for step in meta.steps if step.kind == "write"}
    for number, count in sorted(reports.acked_by_step.items()):
        acked_by_step[meta.step_name(number)] = count
    return Summary(
        sent=reports.sends,
        outcomes=dict(sorted(reports.outcomes.items())),
        findings={finding: by_class[finding] for finding in FindingClass if finding in by_class},
        acked_by_step=acked_by_step,
        lost_by_step=_sums((meta.step_name(step), number) for _, _, step, _, number in lost),
        lost_places=_sums((place, number) for _, place, _, _, number in lost),
        lost_held_by_leader=sum(number for *_, held, number in absent if held),
        lost_unexamined=0 if inspected else sum(number for *_, number in absent),
        extra_copies=counts.extra_copies,
        counts=tuple(
            CountRow.model_validate(dict(zip(_COUNT_ROW, (*row, count), strict=True)))
            for row, count in counts.count_rows
        ),
        examples=tuple(
            Example.model_validate(
                {name: example[name] for name in Example.model_fields} | {"held_by": example["held_by"] or ()}
            )
            for example in counts.examples
        ),
        unavailable_seconds=reports.unavailable_seconds,
        check_seconds=0.0,
        blame=blame(dict(counts.blame_groups), meta),
        premature_places=_sums(
            (place, number) for finding, place, _, _, number in rows if finding is FindingClass.PREMATURE
        ),
        **fields,
    )


_COUNT_ROW = ("finding", "producer", "partition", "step", "windows", "count")


def _sums(numbers: Iterable[tuple[Name, int]]) -> dict[Name, int]:
    """The sum of the numbers of each name, by name."""
    found: Counter[Name] = Counter()
    for name, number in numbers:
        found[name] += number
    return dict(sorted(found.items()))
