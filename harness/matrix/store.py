"""The folder of a matrix: `matrix.json`, and `runs/ARM/NNN/`, each a run folder with its `outcome.json`.

A run is over when its `outcome.json` is there: it is written last, whole, and renamed into place. So whatever
kills the process, a later one knows what is left to do.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from harness.matrix.result import MATRIX_FILE, MATRIX_VERSION, OUTCOME_FILE, MatrixResult, RunRow
from harness.model.errors import BadInput, JournalError
from harness.model.journal import RUN_FILE
from harness.model.places import write_whole
from harness.model.run import RunMeta
from harness.model.secrets import hidden
from harness.model.versioned import Refusal, VersionedFile

RUNS = "runs"
_LOCK = ".lock"


class Store:
    """The folder of one matrix."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def created(cls, results: Path, name: str) -> Store:
        """A new folder below `results`.

        Raises:
            BadInput: it cannot be written.
        """
        folder = results / f"{name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%fZ')}"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise BadInput(
                "the results folder cannot be written",
                where=str(results),
                found=error.strerror or str(error),
                next_step="name another folder with --results",
            ) from error
        return cls(folder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from working at this matrix meanwhile; the kernel lets go with the process.

        Raises:
            BadInput: another one does.
        """
        with (self.folder / _LOCK).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BadInput(
                    "another process is at work in this folder",
                    where=str(self.folder),
                    next_step="wait until it has ended, or end it, then resume",
                ) from error
            yield

    def save(self, result: MatrixResult) -> None:
        write_whole(self.folder / MATRIX_FILE, hidden(result.model_dump_json(indent=2)) + "\n")

    def path_of(self, arm: str, repeat: int) -> str:
        """A run's folder, relative to the matrix's."""
        return f"{RUNS}/{arm}/{repeat + 1:03d}"

    def run_folder(self, arm: str, repeat: int) -> Path:
        return self.folder / self.path_of(arm, repeat)

    def keep(self, row: RunRow) -> None:
        """The run is over."""
        folder = self.folder / row.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / OUTCOME_FILE, hidden(row.model_dump_json(indent=2)) + "\n")

    def outcomes(self, arms: Sequence[str]) -> dict[tuple[str, int], RunRow]:
        """All runs of these arms that are over, by arm and repeat.

        Raises:
            JournalError: one cannot be read, or is of another version.
        """
        found = {}
        for arm in arms:
            for path in sorted((self.folder / RUNS / arm).glob(f"[0-9]*/{OUTCOME_FILE}")):
                row = _OUTCOME.read(path)
                if path.parent == self.run_folder(arm, row.repeat):
                    found[arm, row.repeat] = row
        return found

    def awaits_check(self, arm: str, repeat: int) -> bool:
        """Whether a run was made whole and only not checked."""
        folder = self.run_folder(arm, repeat)
        if not (folder / RUN_FILE).exists():
            return False
        try:
            return RunMeta.load(folder).finished
        except JournalError:
            return False

    def set_aside(self, arm: str, repeat: int) -> Path | None:
        """Move away what a run that was cut short has left; returns where to, None if there was nothing."""
        return self.moved_away(self.run_folder(arm, repeat))

    @staticmethod
    def moved_away(folder: Path) -> Path | None:
        """The same of any run's folder."""
        if not folder.exists():
            return None
        number = 1
        while (target := folder.with_name(f"cut-short-{folder.name}-{number}")).exists():
            number += 1
        return folder.rename(target)


_OUTCOME = VersionedFile(
    RunRow,
    MATRIX_VERSION,
    damaged=Refusal(
        "what is kept of a run cannot be read",
        next_step="move the run's folder away; `kafka-chaos matrix --resume` then makes it again",
    ),
    another=Refusal(
        "a run was made by another version of kafka-chaos",
        next_step="resume with the version that began the matrix, or begin it anew",
    ),
    runs=lambda run: (run.run_schema_version,),
)
