"""What one client did under one fault in one run, and what came of all runs of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Literal

from checkers import Share, share_of
from harness.lab.clients.comparison import client_of
from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.model.journal import SENDS, SENDS_DIR, SendOutcome
from harness.model.journal_reader import count_rows
from harness.model.program_meta import WireSettings
from harness.model.result import ArmResult, VerdictWord
from workloads.records.producer.outcomes import NO_REPORT

_REPORTED = ["outcome", "error"]
_TAKEN = (SendOutcome.ACKED.value, SendOutcome.UNCONFIRMED.value)


class ClientRun(Frozen):
    """One run of one client in one mode under one fault. `folder` is the run's, relative to that of all.

    `acked` counts success reports, with acks=0 those that promise nothing; `failed` counts errors by their
    name, `unreported` the sends that never got a report. `longest_gap` is the longest time without a success
    report, in seconds (None: not known). `acks` and `idempotent` are what the program says of its client,
    `wire` is what its first Produce request asked for ("acks=all, producer id"; empty: no proxy saw it). A
    run of verdict `unknown` proves nothing: `reasons` say why, and figures leave it out.
    """

    client: str
    mode: str
    fault: str
    kafka: str
    folder: str
    verdict: VerdictWord
    reasons: tuple[str, ...]
    acks: Literal["0", "1", "all"]
    idempotent: bool
    wire: str = ""
    sent: int = 0
    acked: int = 0
    failed: dict[str, int] = {}
    unreported: int = 0
    lost: int = 0
    unconfirmed_absent: int = 0
    duplicates: int = 0
    reordered: int = 0
    wrong_offsets: int = 0
    longest_gap: float | None = None

    @property
    def counts(self) -> bool:
        """Whether figures include it."""
        return self.verdict is not VerdictWord.UNKNOWN

    @property
    def absent(self) -> int:
        """Records without a trace in the log whose send was reported as a success."""
        return self.lost + self.unconfirmed_absent

    @property
    def failures(self) -> int:
        """Sends that the client gave up."""
        return sum(self.failed.values())


def client_run(fault: str, result: ArmResult, folder: Path, root: Path) -> ClientRun:
    """What a checked run shows; `folder` is that of its experiment, below `root`.

    Raises:
        JournalError: its journal of sends is damaged.
    """
    client, mode = client_of(result.meta.arm)
    summary = result.summary
    counts: dict[str, Any] = {}
    if summary is not None:
        sends = _sends(folder / result.folder)
        counts = {
            "sent": summary.sent,
            "acked": sum(count for (outcome, _), count in sends.items() if outcome in _TAKEN),
            "failed": {
                error or "without a name": count
                for (outcome, error), count in sorted(sends.items(), key=str)
                if outcome not in _TAKEN and error != NO_REPORT
            },
            "unreported": sum(count for (_, error), count in sends.items() if error == NO_REPORT),
            "lost": summary.count(FindingClass.LOST),
            "unconfirmed_absent": summary.count(FindingClass.UNCONFIRMED_ABSENT),
            "duplicates": summary.count(FindingClass.DUPLICATE),
            "reordered": summary.count(FindingClass.REORDERED),
            "wrong_offsets": summary.count(FindingClass.INCONSISTENT_OFFSET),
            "longest_gap": summary.unavailable_seconds,
        }
    return ClientRun(
        client=client,
        mode=mode,
        fault=fault,
        kafka=result.meta.cluster.image.kafka_version,
        folder=str((folder / result.folder).relative_to(root)),
        verdict=result.judgement.verdict,
        reasons=(*result.judgement.reasons, *result.meta.problems),
        acks=result.meta.acks,
        idempotent=result.meta.idempotent,
        wire=" or ".join(dict.fromkeys(map(_asked, result.meta.wire))),
        **counts,
    )


def _asked(wire: WireSettings) -> str:
    return f"acks={wire.acks}" + (", producer id" if wire.idempotent else "")


def _sends(folder: Path) -> dict[tuple[str, str | None], int]:
    """The number of sends by outcome and error."""
    rows = count_rows(folder / SENDS_DIR, SENDS, _REPORTED)
    return {(row["outcome"], row["error"]): row["count_all"] for row in rows}


class ClientCell(Frozen):
    """All runs of one client in one mode under one fault."""

    client: str
    mode: str
    fault: str
    runs: tuple[ClientRun, ...]

    @property
    def proved(self) -> tuple[ClientRun, ...]:
        """The runs that figures include."""
        return tuple(run for run in self.runs if run.counts)

    def span(self, what: str) -> str:
        """The median of a count over the runs, and its range: "717 (104 to 1,060)"; "-": no run counts."""
        return span_of([getattr(run, what) for run in self.proved])

    def share_with(self, what: str) -> Share:
        """The share of runs with any of what is counted, with its interval at 95 %."""
        return share_of(sum(getattr(run, what) > 0 for run in self.proved), len(self.proved))

    @property
    def errors(self) -> dict[str, int]:
        """Errors by name over all runs, the most frequent first."""
        total: dict[str, int] = {}
        for run in self.proved:
            for name, count in run.failed.items():
                total[name] = total.get(name, 0) + count
        return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def span_of(values: Sequence[float | None]) -> str:
    """The median and the range of numbers; one number if they are all alike."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return "-"
    low, middle, high = (_number(value) for value in (known[0], median(known), known[-1]))
    return middle if low == high else f"{middle} ({low} to {high})"


def _number(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) and value % 1 else f"{value:,.0f}"


def cells_of(runs: Sequence[ClientRun]) -> tuple[ClientCell, ...]:
    """The cells of these runs, in the order in which they first come."""
    cells: dict[tuple[str, str, str], list[ClientRun]] = {}
    for run in runs:
        cells.setdefault((run.fault, run.client, run.mode), []).append(run)
    return tuple(
        ClientCell(client=client, mode=mode, fault=fault, runs=tuple(same))
        for (fault, client, mode), same in cells.items()
    )
