"""Sentences about the origin of findings: write step, partition, open faults, leader epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from harness.model.fault_times import when_acknowledged
from harness.model.result import Breaks, FindingClass
from harness.model.run import RunMeta

MOST_SENTENCES = 100
NOT_COMMITTED = "not committed"
"""Place of a lost record that the log does hold, so it is not looked for in the replicas' files."""

ALLOWED = tuple(finding.value for finding in FindingClass if finding.breaks is Breaks.NEVER)
"""Classes that never break a verdict, of which no sentence tells."""
OF_OUTPUTS = ("invented", "premature", "unprocessed", "reprocessed", "reordered_output")
"""Classes about the outputs of an application, whose sentences name the instance that was started again and
the last checkpoint."""
OF_READERS = (
    *("skipped", "nonmonotonic_read"),
    *("commit_lost", "commit_ahead", "two_owners", "foreign_commit"),
)
"""Classes whose sentences name the reader."""


class BlameCell(NamedTuple):
    """What findings of one sentence have in common.

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


def blame(cells: Mapping[BlameCell, int], meta: RunMeta) -> tuple[str, ...]:
    """One sentence per class, write step, partition, faults and leader epochs, the most findings first.

    "500 lost: sent in write to partition 0, acknowledged by broker 2 in epoch 3 during partition-1,
    overwritten in epoch 4, gone after kill-1". Each sentence is true of each of its findings.
    """
    ordered = sorted(
        cells.items(),
        key=lambda one: (-one[1], *((value is not None, 0 if value is None else value) for value in one[0])),
    )
    return tuple(sentence(cell, count, meta) for cell, count in ordered[:MOST_SENTENCES])


def sentence(row: BlameCell, count: int, meta: RunMeta) -> str:
    """A cell and the number of its findings in words."""
    parts = []
    if row.step is not None:
        name = next((step.name for step in meta.steps if step.index == row.step), f"step {row.step}")
        parts.append(f"sent in {name} to partition {row.partition}")
    elif row.partition is not None:
        parts.append(f"in partition {row.partition}")
    if row.reader is not None and row.finding not in OF_OUTPUTS:
        parts.append(f"by {row.reader}")
    when = when_acknowledged(row.ended, row.during)
    if row.acked_by is not None:
        acknowledged = f"acknowledged by broker {row.acked_by} in epoch {row.acked_epoch}"
        parts.append(f"{acknowledged} {when}".strip())
    elif when:
        parts.append(when)
    if row.place is not None:
        place = {"tail": "the log ends before", "unknown": "not in the log"}.get(row.place, row.place)
        replaced = row.place == "overwritten" and row.replaced_epoch is not None
        parts.append(f"{place} in epoch {row.replaced_epoch}" if replaced else place)
    if row.finding in OF_OUTPUTS:
        parts += [f"after {row.reader} was started again"] if row.reader is not None else []
        parts += [f"last checkpoint at offset {row.checkpoint}"] if row.checkpoint is not None else []
    if row.later:
        parts.append(f"{'missing' if row.place == NOT_COMMITTED else 'gone'} after {row.later}")
    return f"{count:,} {row.finding}: {', '.join(parts)}"
