"""The folder of many runs: `runs/.../NNN/`, each a run folder with its `outcome.json`, and one result file.

A run is over when its `outcome.json` is there: it is written last, whole, and renamed into place. So whatever
kills the process, a later one knows what is left to do.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, Self

from pydantic import BaseModel

from harness.model.errors import BadInput
from harness.model.secrets import hidden
from harness.model.storage import write_whole

OUTCOME_FILE = "outcome.json"
RUNS = "runs"
_LOCK = ".lock"


class RunOutcome(Protocol):
    """What is kept of a run that is over. `folder` is relative to the store's."""

    @property
    def folder(self) -> str: ...

    def model_dump_json(self, *, indent: int) -> str: ...


class RunStore:
    """The folder of one campaign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def created(cls, results: Path, name: str) -> Self:
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
        """Keep other processes from working in this folder meanwhile; the kernel lets go with the process.

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

    def write(self, name: str, result: BaseModel) -> None:
        """Write a file of the folder, without secrets and whole."""
        write_whole(self.folder / name, hidden(result.model_dump_json(indent=2)) + "\n")

    def keep(self, outcome: RunOutcome) -> None:
        """Write that a run is over."""
        folder = self.folder / outcome.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / OUTCOME_FILE, hidden(outcome.model_dump_json(indent=2)) + "\n")

    def outcome_paths(self, *within: str) -> list[Path]:
        """The files of runs that are over, in order, of a folder within `runs/`."""
        return sorted(self.folder.joinpath(RUNS, *within).glob(f"[0-9]*/{OUTCOME_FILE}"))


def moved_away(folder: Path) -> Path | None:
    """Move away what a run that was cut short has left; returns where to, None if there was nothing."""
    if not folder.exists():
        return None
    number = 1
    while (target := folder.with_name(f"cut-short-{folder.name}-{number}")).exists():
        number += 1
    return folder.rename(target)
