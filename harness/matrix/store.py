"""The folder of a matrix: `matrix.json`, and `runs/ARM/NNN/` (`harness.campaign.run_store`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.campaign.run_store import RUNS, RunStore
from harness.matrix.result import MATRIX_FILE, MATRIX_VERSION, MatrixResult, RunRow
from harness.model.versioned_json import Refusal, VersionedFile


class MatrixStore(RunStore):
    """The folder of one matrix."""

    def save(self, result: MatrixResult) -> None:
        self.write(MATRIX_FILE, result)

    def path_of(self, arm: str, repeat: int) -> str:
        """A run's folder, relative to the matrix's."""
        return f"{RUNS}/{arm}/{repeat + 1:03d}"

    def run_folder(self, arm: str, repeat: int) -> Path:
        return self.folder / self.path_of(arm, repeat)

    def outcomes(self, arms: Sequence[str]) -> dict[tuple[str, int], RunRow]:
        """All runs of these arms that are over, by arm and repeat.

        Raises:
            JournalError: one cannot be read, or is of another version.
        """
        found = {}
        for arm in arms:
            for path in self.outcome_paths(arm):
                row = _OUTCOME.read(path)
                if path.parent == self.run_folder(arm, row.repeat):
                    found[arm, row.repeat] = row
        return found


_OUTCOME = VersionedFile(
    RunRow,
    MATRIX_VERSION,
    damaged=Refusal(
        "the outcome of a run cannot be read",
        next_step="move the run's folder away; `kafka-chaos matrix --resume` then makes it again",
    ),
    another=Refusal(
        "a run was made by another version of kafka-chaos",
        next_step="resume with the version that began the matrix, or begin it anew",
    ),
    runs=lambda run: (run.run_schema_version,),
)
