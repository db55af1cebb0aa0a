"""What one consumer did in one situation in one run, and what came of all runs of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.lab.clients.client import Committer
from harness.lab.clients.client_run import span_of
from harness.lab.clients.comparison import client_of
from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.model.result import ABORTED_INPUT, ArmResult, NotHandled, VerdictWord

CLIENTS, PROGRAMS, OPEN = "the client's", "the program's", "not known"
_COMMITTERS = {"client": CLIENTS, "program": PROGRAMS, "either": "the client's or the program's"}


class ConsumerRun(Frozen):
    """One run of one consumer in one mode and situation. `folder` is the run's, relative to that of all.

    `commits` says who commits. Of the records that it had to handle, `skipped` were never handled, for
    reasons that `skipped_by` counts (`NotHandled`), and `twice` more than once; `aborted` ones of aborted
    transactions were handled, and `markers` of transactions handed out as records. When its first process
    ended, or at the end, its group had committed `committed`, and the highest record handled was followed by
    `next_offset` (both of partition 0). `longest_gap` and `shared_seconds` are as in `HandledRecords`.
    """

    client: str
    mode: str
    situation: str
    kafka: str
    folder: str
    verdict: VerdictWord
    reasons: tuple[str, ...]
    commits: Committer
    read_committed: bool
    handled: int = 0
    skipped: int = 0
    skipped_by: dict[str, int] = {}
    twice: int = 0
    aborted: int = 0
    markers: int = 0
    committed: int | None = None
    next_offset: int | None = None
    longest_gap: float | None = None
    shared_seconds: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether figures include it."""
        return self.verdict is not VerdictWord.UNKNOWN

    @property
    def wrong(self) -> str:
        """What it did that at-least-once delivery does not allow, in words; empty: nothing."""
        wrong = []
        if self.skipped:
            causes = ", ".join(f"{cause} {count:,}" for cause, count in self.skipped_by.items())
            wrong.append(f"{self.skipped:,} records were never handled ({causes})")
        if self.read_committed and self.aborted:
            wrong.append(f"{self.aborted:,} records of aborted transactions were handled")
        if self.markers:
            wrong.append(f"{self.markers:,} ends of transactions were handed out as records")
        return "; ".join(wrong)

    def whose(self) -> Iterator[str]:
        """Whose doing the skipped records, and those of aborted transactions, were."""
        if self.skipped_by.get(NotHandled.COMMITTED):
            yield _COMMITTERS[self.commits]
        if self.skipped_by.get(NotHandled.FAILED):
            yield PROGRAMS
        if self.skipped_by.get(NotHandled.JUMPED):
            yield CLIENTS
        if self.skipped_by.get(NotHandled.NOT_REACHED):
            yield OPEN
        if self.read_committed and (self.aborted or self.markers):
            yield CLIENTS


def consumer_run(
    situation: str,
    result: ArmResult,
    folder: Path,
    root: Path,
    commits: Committer,
    read_committed: bool,
) -> ConsumerRun:
    """What a checked run shows; `folder` is that of its experiment, below `root`."""
    client, mode = client_of(result.meta.arm)
    summary, application = result.summary, result.meta.application
    counts: dict[str, object] = {}
    if summary is not None and summary.handled is not None:
        first = next((one for one in summary.handled.members if one.partition == 0), None)
        # What retention has deleted is not the consumer's to handle.
        skipped_by = {
            place: number for place, number in summary.unprocessed_places.items() if place in set(NotHandled)
        }
        counts = {
            "handled": sum(one.records for one in summary.handled.members),
            "skipped": sum(skipped_by.values()),
            "skipped_by": skipped_by,
            "twice": summary.count(FindingClass.REPROCESSED),
            "aborted": summary.premature_places.get(ABORTED_INPUT, 0),
            "markers": application.markers if application is not None else 0,
            "committed": None if first is None else first.committed,
            "next_offset": None if first is None else first.next_offset,
            "longest_gap": summary.handled.longest_gap,
            "shared_seconds": summary.handled.shared_seconds,
        }
    return ConsumerRun.model_validate(
        {
            "client": client,
            "mode": mode,
            "situation": situation,
            "kafka": result.meta.cluster.image.kafka_version,
            "folder": str((folder / result.folder).relative_to(root)),
            "verdict": result.judgement.verdict,
            "reasons": (*result.judgement.reasons, *result.meta.problems),
            "commits": commits,
            "read_committed": read_committed,
            **counts,
        }
    )


class ConsumerCell(Frozen):
    """All runs of one consumer in one mode and situation."""

    client: str
    mode: str
    situation: str
    runs: tuple[ConsumerRun, ...]

    @property
    def proved(self) -> tuple[ConsumerRun, ...]:
        """The runs that figures include."""
        return tuple(run for run in self.runs if run.counts)

    def span(self, what: str) -> str:
        """The median of a figure over the runs, and its range."""
        return span_of([getattr(run, what) for run in self.proved])

    @property
    def whose(self) -> str:
        """Whose doing it was, over all runs; "-": nothing was wrong."""
        return ", ".join(dict.fromkeys(word for run in self.proved for word in run.whose())) or "-"


def consumer_cells(runs: Sequence[ConsumerRun]) -> tuple[ConsumerCell, ...]:
    """The cells of these runs, in the order in which they first come."""
    cells: dict[tuple[str, str, str], list[ConsumerRun]] = {}
    for run in runs:
        cells.setdefault((run.situation, run.client, run.mode), []).append(run)
    return tuple(
        ConsumerCell(client=client, mode=mode, situation=situation, runs=tuple(same))
        for (situation, client, mode), same in cells.items()
    )
