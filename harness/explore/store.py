"""The folder of an exploration: `result.json`, and `runs/NNNN/`, each a run folder with its `outcome.json`.

A run is over when its `outcome.json` is there, as in a matrix (`harness.matrix.store`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.explore.result import EXPLORE_VERSION, RESULT_FILE, ExploreResult, Run
from harness.matrix.result import OUTCOME_FILE
from harness.matrix.store import RUNS
from harness.matrix.store import Store as Runs
from harness.model.places import write_whole
from harness.model.secrets import hidden
from harness.model.versioned import Refusal, VersionedFile


class Store:
    """The folder of one exploration. `runs` sees the same folder as a matrix's, with one arm a number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs = Runs(folder)

    @classmethod
    def created(cls, results: Path, name: str) -> Store:
        """A new folder below `results`.

        Raises:
            BadInput: it cannot be written.
        """
        return cls(Runs.created(results, f"explore-{name}").folder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from working at this exploration meanwhile.

        Raises:
            BadInput: another one does.
        """
        with self._runs.held():
            yield

    def save(self, result: ExploreResult) -> None:
        write_whole(self.folder / RESULT_FILE, hidden(result.model_dump_json(indent=2)) + "\n")

    def path_of(self, number: int) -> str:
        """A run's folder, relative to the exploration's."""
        return f"{RUNS}/{number:04d}"

    def run_folder(self, number: int) -> Path:
        return self.folder / self.path_of(number)

    def keep(self, run: Run) -> None:
        """The run is over."""
        folder = self.folder / run.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / OUTCOME_FILE, hidden(run.model_dump_json(indent=2)) + "\n")

    def runs(self) -> dict[int, Run]:
        """All runs that are over, by number.

        Raises:
            JournalError: one cannot be read, or is of another version.
        """
        found = {}
        for path in sorted((self.folder / RUNS).glob(f"[0-9]*/{OUTCOME_FILE}")):
            run = _OUTCOME.read(path)
            if path.parent == self.run_folder(run.number):
                found[run.number] = run
        return found

    def set_aside(self, number: int) -> Path | None:
        """Move away what a run that was cut short has left; returns where to, None if there was nothing."""
        return self._runs.moved_away(self.run_folder(number))


_OUTCOME = VersionedFile(
    Run,
    EXPLORE_VERSION,
    damaged=Refusal(
        "what is kept of a run cannot be read",
        next_step="move this and all later runs away, then resume: they are made again",
    ),
    another=Refusal(
        "a run was made by another version of kafka-chaos",
        next_step="resume with the version that began the exploration, or begin it anew",
    ),
    runs=lambda run: (run.run_schema_version,),
)
