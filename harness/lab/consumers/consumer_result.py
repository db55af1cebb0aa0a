"""The result of a comparison of consumers: `consumers.json` in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.lab.clients.comparison_result import Comparison
from harness.lab.consumers.consumer_run import ConsumerCell, ConsumerRun, consumer_cells
from harness.model.versioned_json import Refusal, VersionedFile

CONSUMERS_FILE = "consumers.json"
CONSUMERS_VERSION = 1


class ConsumersResult(Comparison):
    """All runs of a comparison of consumers."""

    schema_version: int = CONSUMERS_VERSION
    runs: tuple[ConsumerRun, ...] = ()

    @property
    def cells(self) -> tuple[ConsumerCell, ...]:
        """The runs by situation, client and mode."""
        return consumer_cells(self.runs)

    def exit_code(self, judged: Sequence[str] = ()) -> int:
        """1: a run of one of the clients `judged` did what at-least-once delivery does not allow; 3: a cell
        has no run that proves anything, or a client was left out; else 0."""
        if any(run.counts and run.wrong for run in self.runs if run.client in judged):
            return 1
        return 0 if self.runs and not self.left_out and all(cell.proved for cell in self.cells) else 3


def load_consumers(path: Path) -> ConsumersResult:
    """Read the result of a comparison of consumers: its folder, or the file.

    Raises:
        JournalError: no such file, not of this kind, or written by another version.
    """
    return _FILE.read(path / CONSUMERS_FILE if path.is_dir() else path)


_FILE = VersionedFile(
    ConsumersResult,
    CONSUMERS_VERSION,
    absent=Refusal(
        "there is no comparison of consumers here",
        expected=f"a folder holding {CONSUMERS_FILE}, as `kafka-chaos clients --consumers` leaves it",
        next_step="name such a folder",
    ),
    damaged=Refusal(
        "the comparison of consumers cannot be read",
        next_step="restore the file, or run `kafka-chaos clients --consumers` again",
    ),
    another=Refusal(
        "the comparison of consumers was written by another version of kafka-chaos",
        next_step="use the version that wrote it, or run `kafka-chaos clients --consumers` again",
    ),
)
