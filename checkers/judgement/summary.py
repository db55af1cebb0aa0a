"""The summary of a run, from the counts of its findings and of the reports of its sends, with sentences about
what findings have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from harness.model.fault_times import when_acknowledged
from harness.model.finding_class import Breaks, FindingClass
from harness.model.partition_words import partition_in_words
from harness.model.result import DOUBTFUL_REPORTS, FALSE_REPORTS, CountRow, Example, Summary
from harness.model.run import RunMeta

Name = TypeVar("Name", bound=str)


_COUNT_ROW = ("finding", "producer", "partition", "step", "windows", "count")

MOST_SENTENCES = 100
NO_FAULT = "no fault was in force"
NOT_COMMITTED = "not committed"
"""Place of a lost record that the log holds, so it is not looked for in the replicas' files."""

ALLOWED_CLASSES = tuple(finding.value for finding in FindingClass if finding.breaks is Breaks.NEVER)
"""Classes that never break a verdict, about which there is no sentence."""
OUTPUT_CLASSES = ("invented", "premature", "unprocessed", "reprocessed", "reordered_output")
"""Classes of outputs, whose sentences name the instance that was started again and the last checkpoint."""
READER_CLASSES = (
    *("skipped", "nonmonotonic_read"),
    *("commit_lost", "commit_ahead", "two_owners", "foreign_commit"),
)
"""Classes whose sentences name the reader."""


@dataclass(frozen=True)
class FindingCounts:
    """Counts of the findings of a run.

    `totals` are numbers of findings by class, place, step, whether the leader's own files hold the record,
    and what the success reports of its offset are (`FALSE_REPORTS`, `DOUBTFUL_REPORTS`, None); they are
    complete. `count_rows` are the largest numbers by class, producer, partition, step and windows,
    `blame_groups` those by `BlameGroup`, the largest first. `extra_copies` is the number of copies beyond the
    first of all duplicates, `indeterminate_present` that of indeterminate sends that are in the log.
    `examples` are a few of each class, as columns of `harness.model.result.Example`.
    """

    totals: dict[tuple[str, str | None, int | None, bool, str | None], int] = field(default_factory=dict)
    count_rows: list[tuple[tuple[Any, ...], int]] = field(default_factory=list)
    blame_groups: list[tuple[BlameGroup, int]] = field(default_factory=list)
    extra_copies: int = 0
    indeterminate_present: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Reports:
    """The delivery reports of a run's sends: numbers of sends by outcome, of acknowledged ones by step index,
    and the longest time without a success report in any partition and write step (None: not known)."""

    outcomes: dict[str, int]
    acked_by_step: dict[int, int]
    unavailable_seconds: float | None

    @property
    def sends(self) -> int:
        return sum(self.outcomes.values())


def summarise(counts: FindingCounts, meta: RunMeta, reports: Reports, **fields: Any) -> Summary:
    """Summary of a run from the counts of all findings, the reports of all sends, and its other `fields`;
    `check_seconds` is left 0.0 for the caller to fill in."""
    rows = [
        (FindingClass(name), str(place), step, held, number)
        for (name, place, step, held, _), number in counts.totals.items()
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
        same_offset=_sums((doubt, number) for (*_, doubt), number in counts.totals.items() if doubt),
        lost_held_by_leader=sum(number for *_, held, number in absent if held),
        lost_unexamined=0 if inspected else sum(number for *_, number in absent),
        extra_copies=counts.extra_copies,
        indeterminate_present=counts.indeterminate_present,
        counts=tuple(
            CountRow.model_validate(dict(zip(_COUNT_ROW, (*row, count), strict=True)))
            for row, count in counts.count_rows
        ),
        examples=tuple(
            Example.model_validate(
                {name: example[name] for name in Example.model_fields}
                | {name: example[name] or () for name in ("offsets", "held_by", "cycle")}
            )
            for example in counts.examples
        ),
        unavailable_seconds=reports.unavailable_seconds,
        check_seconds=0.0,
        blame=blame(dict(counts.blame_groups), meta),
        premature_places=_sums(
            (place, number) for finding, place, _, _, number in rows if finding is FindingClass.PREMATURE
        ),
        unprocessed_places=_sums(
            (place, number)
            for finding, place, _, _, number in rows
            if finding is FindingClass.UNPROCESSED and place is not None
        ),
        **fields,
    )


def _sums(numbers: Iterable[tuple[Name, int]]) -> dict[Name, int]:
    """The sum of the numbers of each name, by name."""
    sums: Counter[Name] = Counter()
    for name, number in numbers:
        sums[name] += number
    return dict(sorted(sums.items()))


class BlameGroup(NamedTuple):
    """The values that the findings of one sentence have in common.

    Of lost records, `ended` are the faults that were open after the send and ended before the report,
    `during` those that were open at the report, `later` those that began after it
    (`checkers.evidence.windows.split_windows`), and `same_offset` is `FALSE_REPORTS` or
    `DOUBTFUL_REPORTS` where other success reports name the offset as well.
    """

    finding: str
    step: int | None
    partition: int | None
    ended: str
    during: str
    later: str
    place: str | None
    acked_by: int | None
    acked_epoch: int | None
    replaced_epoch: int | None
    reader: str | None
    checkpoint: int | None = None
    same_offset: str | None = None


_SAME_OFFSET = {
    FALSE_REPORTS: "at offsets that more success reports name than can be true",
    DOUBTFUL_REPORTS: "at offsets that several success reports name",
}


_NO_FAULT = {
    FindingClass.UNPROCESSED.value: f"{NO_FAULT}: the application passed over it",
    FindingClass.REPROCESSED.value: f"{NO_FAULT} between its first output and its last one",
    FindingClass.DUPLICATE_ID.value: f"{NO_FAULT} between its first send and its last report",
}
"""What is said of findings for which no fault can be the reason."""


def _no_fault(group: BlameGroup) -> str:
    # Retention may have overtaken the application.
    return NO_FAULT if group.place is not None else _NO_FAULT[group.finding]


def blame(groups: Mapping[BlameGroup, int], meta: RunMeta) -> tuple[str, ...]:
    """One sentence per class, write step, partition, faults and leader epochs, the most findings first.

    "500 lost: sent in write to partition 0, acknowledged by broker 2 in epoch 3 during partition-1,
    overwritten in epoch 4, gone after kill-1". Each sentence is true of each of its findings.
    """
    ordered = sorted(
        groups.items(),
        key=lambda row: (-row[1], *((value is not None, 0 if value is None else value) for value in row[0])),
    )
    return tuple(sentence(group, count, meta) for group, count in ordered[:MOST_SENTENCES])


def sentence(group: BlameGroup, count: int, meta: RunMeta) -> str:
    """The sentence about a group and the number of its findings."""
    parts = []
    if group.step is not None:
        to = f" to {partition_in_words(group.partition)}" if group.partition is not None else ""
        # Programs of the user's own send between write steps as well.
        within = "in or around" if meta.client == "own" else "in"
        parts.append(f"sent {within} {meta.step_name(group.step)}{to}")
    elif group.partition is not None:
        parts.append(f"in {partition_in_words(group.partition)}")
    if group.reader is not None and group.finding not in OUTPUT_CLASSES:
        parts.append(f"by {group.reader}")
    when = when_acknowledged(group.ended, group.during)
    if group.acked_by is not None:
        epoch = f"in epoch {group.acked_epoch}" if group.acked_epoch is not None else ""
        parts.append(" ".join(filter(None, (f"acknowledged by broker {group.acked_by}", epoch, when))))
    elif when:
        parts.append(when)
    if group.place is not None:
        place = {"tail": "the log ends before", "unknown": "not in the log"}.get(group.place, group.place)
        replaced = group.place == "overwritten" and group.replaced_epoch is not None
        parts.append(f"{place} in epoch {group.replaced_epoch}" if replaced else place)
    if group.same_offset is not None:
        parts.append(_SAME_OFFSET[group.same_offset])
    if group.finding in OUTPUT_CLASSES:
        parts += [f"after {group.reader} was started again"] if group.reader is not None else []
        parts += [f"last checkpoint at offset {group.checkpoint}"] if group.checkpoint is not None else []
    if group.finding in _NO_FAULT and not group.during and meta.windows:
        parts.append(_no_fault(group))
    if group.later:
        parts.append(f"{'missing' if group.place == NOT_COMMITTED else 'gone'} after {group.later}")
    return f"{count:,} {group.finding}{': ' if parts else ''}{', '.join(parts)}"
