"""The folder of an exploration: `result.json`, and `runs/NNNN/` (`harness.campaign.run_store`)."""

from __future__ import annotations

from pathlib import Path

from harness.campaign.run_store import RUNS, RunStore
from harness.explore.result import EXPLORE_VERSION, RESULT_FILE, ExploreResult, TrialRun
from harness.model.versioned_json import Refusal, VersionedFile


class ExploreStore(RunStore):
    """The folder of one exploration."""

    def save(self, result: ExploreResult) -> None:
        self.write(RESULT_FILE, result)

    def path_of(self, number: int) -> str:
        """A run's folder, relative to the exploration's."""
        return f"{RUNS}/{number:04d}"

    def run_folder(self, number: int) -> Path:
        return self.folder / self.path_of(number)

    def runs(self) -> dict[int, TrialRun]:
        """All runs that are over, by number.

        Raises:
            JournalError: one cannot be read, or is of another version.
        """
        found = {}
        for path in self.outcome_paths():
            run = _OUTCOME.read(path)
            if path.parent == self.run_folder(run.number):
                found[run.number] = run
        return found


_OUTCOME = VersionedFile(
    TrialRun,
    EXPLORE_VERSION,
    damaged=Refusal(
        "the outcome of a run cannot be read",
        next_step="move this and all later runs away, then resume: they are made again",
    ),
    another=Refusal(
        "a run was made by another version of kafka-chaos",
        next_step="resume with the version that began the exploration, or begin it anew",
    ),
    runs=lambda run: (run.run_schema_version,),
)
