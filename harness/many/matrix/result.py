"""The folder of a matrix: its result (`matrix.json`), and each run's `runs/ARM/NNN/outcome.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from checkers import EventRate, Seconds, Share, counts_of
from harness.many.run_store import RunOutcome, RunStore, outcome_file
from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.model.result import ArmResult, VerdictWord
from harness.model.versioned_json import Refusal, VersionedFile

MATRIX_FILE = "matrix.json"
MATRIX_VERSION = 1
"""Of `matrix.json`. What both files mean is described in docs/how-to/matrix.md."""


class RunRow(RunOutcome):
    """One run of one arm. `repeat` counts from 0. `outcomes` are counts of sends. A run of verdict `unknown`
    proves nothing, and is left out of all figures."""

    arm: str
    labels: dict[str, str]
    repeat: int
    as_promised: bool | None = None
    outcomes: dict[str, int] = {}
    unavailable_seconds: float | None = None
    kafka_version: str = ""
    image_digest: str = ""

    @property
    def counts(self) -> bool:
        """Whether figures include it."""
        return self.verdict is not VerdictWord.UNKNOWN

    @property
    def counted(self) -> dict[str, Any]:
        """The run as `checkers.figures_of` takes it."""
        return {
            "problem": None if self.counts else "; ".join(self.reasons),
            "unavailable": self.unavailable_seconds,
            **counts_of(self.sent, self.outcomes, self.findings),
        }

    def count(self, finding: FindingClass) -> int:
        return self.findings.get(finding, 0)

    def broke(self, finding: FindingClass) -> bool:
        """Whether it broke the promise on this class; the reasons begin with the class (`BrokenPromise`)."""
        return any(reason.startswith(f"{finding.value}: promised ") for reason in self.reasons)


def found_in(result: ArmResult) -> dict[str, Any]:
    """What is found in a run that was checked, as fields of a `RunRow`."""
    meta, summary, judgement = result.meta, result.summary, result.judgement
    fields = {
        "verdict": judgement.verdict,
        "as_promised": judgement.as_promised,
        "reasons": (*judgement.promise_reasons, *judgement.reasons),
        "started_ns": meta.started_ns,
        "seconds": round(((meta.ended_ns or meta.started_ns) - meta.started_ns) / 1e9, 1),
        "kafka_version": meta.cluster.image.kafka_version,
        "image_digest": meta.cluster.image.digest,
    }
    counts = ("sent", "outcomes", "findings", "unavailable_seconds") if summary is not None else ()
    return fields | {name: getattr(summary, name) for name in counts}


class ArmFigures(Frozen):
    """Figures over the runs of an arm whose verdict is known: shares of runs, seconds, rates per million
    records (lost: of acknowledged, unconfirmed_absent: of unconfirmed, duplicates: of sent ones)."""

    runs: int
    left_out: int
    with_loss: Share
    with_unconfirmed_absent: Share
    with_duplicates: Share
    as_promised: Share
    lost_per_million: EventRate
    unconfirmed_absent_per_million: EventRate
    duplicates_per_million: EventRate
    unavailable_seconds: Seconds


class MatrixArmResult(Frozen):
    """One arm. `state`: it `ran`; was `refused` by the client or broker; is `impossible` on this machine; or
    has no run yet (`waiting`). `reason` says why it did not run; `left_out` why runs do not count."""

    name: str
    labels: dict[str, str]
    state: Literal["ran", "refused", "impossible", "waiting"]
    reason: str | None = None
    runs: tuple[RunRow, ...] = ()
    left_out: tuple[str, ...] = ()
    figures: ArmFigures | None = None

    @property
    def as_promised(self) -> bool | None:
        """Whether every run kept the arm's promise; None: no run counts."""
        kept = [run.as_promised for run in self.runs if run.counts]
        return all(kept) if kept else None


class MatrixResult(Frozen):
    """`matrix.json`. `spec` is the matrix as written (short forms spelt out), `ended` whether all runs were
    made. `seconds` adds up what its parts took, where it was resumed."""

    schema_version: int = MATRIX_VERSION
    name: str
    title: str
    description: str
    spec: dict[str, Any]
    seed: int
    command: str
    started_ns: int
    seconds: float
    ended: Literal["all runs made", "budget spent", "under way"]
    arms: tuple[MatrixArmResult, ...]

    @property
    def axes(self) -> list[str]:
        return list(self.arms[0].labels) if self.arms else []

    def exit_code(self) -> int:
        """1 a run broke its promise; 3 none did, but an arm has no run with a known verdict; else 0."""
        kept = [arm.as_promised for arm in self.arms if arm.state in ("ran", "waiting")]
        if False in kept:
            return 1
        return 0 if kept and None not in kept else 3


def load_result(folder: Path) -> MatrixResult:
    """Read a matrix's result.

    Raises:
        JournalError: no such file, not a matrix's result, or written by another version.
    """
    return _FILE.read(folder / MATRIX_FILE if folder.is_dir() or folder.suffix != ".json" else folder)


_FILE = VersionedFile(
    MatrixResult,
    MATRIX_VERSION,
    absent=Refusal(
        "there is no result of a matrix here",
        expected=f"a folder holding {MATRIX_FILE}, as `kafka-chaos matrix` leaves below results/",
        next_step="name such a folder",
    ),
    damaged=Refusal(
        "the result of the matrix cannot be read",
        expected="JSON as docs/how-to/matrix.md describes it",
        next_step="`kafka-chaos matrix --resume FOLDER` writes it anew from the runs, or restore the file",
    ),
    another=Refusal(
        "the result was written by another version of kafka-chaos",
        next_step="use the version that wrote it, or run the matrix again",
    ),
    runs=lambda result: (run.run_schema_version for arm in result.arms for run in arm.runs),
)


class MatrixStore(RunStore[RunRow]):
    """The folder of one matrix."""

    file = outcome_file(
        RunRow, "matrix", "move the run's folder away; `kafka-chaos matrix --resume` then makes it again"
    )

    def run_folder(self, arm: str, repeat: int) -> Path:
        return self.run_path(arm, f"{repeat + 1:03d}")
