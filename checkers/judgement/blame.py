"""Sentences about what findings have in common: write step, partition, open faults, leader epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from harness.model.fault_times import when_acknowledged
from harness.model.result import Breaks, FindingClass
from harness.model.run import RunMeta

MOST_SENTENCES = 100
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


class BlameGroup(NamedTuple):
    """The values that the findings of one sentence have in common.

    Of lost records, `ended` are the faults that were open after the send and ended before the report,
    `during` those that were open at the report, `later` those that began after it
    (`checkers.evidence.windows.split_windows`).
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


def blame(groups: Mapping[BlameGroup, int], meta: RunMeta) -> tuple[str, ...]:
    """One sentence per class, write step, partition, faults and leader epochs, the most findings first.

    "500 lost: sent in write to partition 0, acknowledged by broker 2 in epoch 3 during partition-1,
    overwritten in epoch 4, gone after kill-1". Each sentence is true of each of its findings.
    """
    ordered = sorted(
        groups.items(),
        key=lambda one: (-one[1], *((value is not None, 0 if value is None else value) for value in one[0])),
    )
    return tuple(sentence(group, count, meta) for group, count in ordered[:MOST_SENTENCES])


def sentence(group: BlameGroup, count: int, meta: RunMeta) -> str:
    """The sentence about a group and the number of its findings."""
    parts = []
    if group.step is not None:
        parts.append(f"sent in {meta.step_name(group.step)} to partition {group.partition}")
    elif group.partition is not None:
        parts.append(f"in partition {group.partition}")
    if group.reader is not None and group.finding not in OUTPUT_CLASSES:
        parts.append(f"by {group.reader}")
    when = when_acknowledged(group.ended, group.during)
    if group.acked_by is not None:
        acknowledged = f"acknowledged by broker {group.acked_by} in epoch {group.acked_epoch}"
        parts.append(f"{acknowledged} {when}".strip())
    elif when:
        parts.append(when)
    if group.place is not None:
        place = {"tail": "the log ends before", "unknown": "not in the log"}.get(group.place, group.place)
        replaced = group.place == "overwritten" and group.replaced_epoch is not None
        parts.append(f"{place} in epoch {group.replaced_epoch}" if replaced else place)
    if group.finding in OUTPUT_CLASSES:
        parts += [f"after {group.reader} was started again"] if group.reader is not None else []
        parts += [f"last checkpoint at offset {group.checkpoint}"] if group.checkpoint is not None else []
    if group.later:
        parts.append(f"{'missing' if group.place == NOT_COMMITTED else 'gone'} after {group.later}")
    return f"{count:,} {group.finding}: {', '.join(parts)}"
