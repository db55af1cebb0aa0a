"""The folder of many runs: `runs/.../NNN/`, each a run folder with its `outcome.json`, and one result file.

A run is over when its `outcome.json` exists: it is written last, and renamed into place as a whole. So a
later process knows which runs are missing, however the earlier one ended.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Generic, Self, TypeVar

from pydantic import BaseModel

from harness.model.errors import BadInput, JournalError
from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.model.journal import OUTCOME_FILE, SCHEMA_VERSION, SET_ASIDE_PREFIX
from harness.model.progress import report_progress
from harness.model.result import VerdictWord
from harness.model.run import RunMeta
from harness.model.secrets import redact
from harness.model.storage import write_whole
from harness.model.versioned_json import Refusal, VersionedFile
from harness.spec.overrides import ClusterOptions

OUTCOME_VERSION = 1
_RUNS, _LOCK = "runs", ".lock"


class RunOutcome(Frozen):
    """A run that is over. `folder` is relative to the store's, `seconds` is what the run took, `reasons` why
    it got its verdict or broke. `findings` are counts by class, `sent` is the number of sends."""

    schema_version: int = OUTCOME_VERSION
    run_schema_version: int = SCHEMA_VERSION
    folder: str
    seed: int
    verdict: VerdictWord
    reasons: tuple[str, ...] = ()
    sent: int = 0
    findings: dict[FindingClass, int] = {}
    started_ns: int
    seconds: float


Outcome = TypeVar("Outcome", bound=RunOutcome)


def outcome_file(model: type[Outcome], campaign: str, next_step: str) -> VersionedFile[Outcome]:
    """The files with the outcomes of such a campaign; `next_step`: what to do if one is damaged."""
    return VersionedFile(
        model,
        OUTCOME_VERSION,
        damaged=Refusal("the outcome of a run cannot be read", next_step=next_step),
        another=Refusal(
            "a run was made by another version of kafka-chaos",
            next_step=f"resume with the version that began the {campaign}, or begin it anew",
        ),
        runs=lambda run: (run.run_schema_version,),
    )


class RunStore(Generic[Outcome]):
    """The folder of one campaign, whose runs leave files of the kind `file`."""

    file: VersionedFile[Outcome]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock: IO[Any] | None = None
        """Open and locked while the store is held."""

    @classmethod
    def created(cls, results: Path, name: str) -> Self:
        """A new folder below `results`.

        Raises:
            BadInput: it cannot be written.
        """
        folder = results / f"{name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%fZ')}"
        with BadInput.for_os_errors(
            "the results folder cannot be written",
            where=results,
            next_step="name another folder with --results",
        ):
            folder.mkdir(parents=True)
        return cls(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from working in this folder; the kernel unlocks it when this process and those
        that share `lock` have ended.

        Raises:
            BadInput: another process works in it.
        """
        with (self.folder / _LOCK).open("w") as file:
            self.lock = file
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BadInput(
                    "another process is working in this folder",
                    where=str(self.folder),
                    next_step="wait until it has ended, or end it, then resume",
                ) from error
            yield

    def write(self, name: str, result: BaseModel) -> None:
        """Write a file of the folder, without secrets and whole."""
        write_whole(self.folder / name, redact(result.model_dump_json(indent=2)) + "\n")

    def run_path(self, *parts: str) -> Path:
        """A folder in that of all runs."""
        return self.folder.joinpath(_RUNS, *parts)

    def keep(self, outcome: Outcome) -> None:
        """Record that a run is over."""
        (self.folder / outcome.folder).mkdir(parents=True, exist_ok=True)
        self.write(f"{outcome.folder}/{OUTCOME_FILE}", outcome)

    def outcomes(self, *within: str) -> list[Outcome]:
        """The runs in a folder within that of all runs that are over, in order; not what was copied there.

        Raises:
            JournalError: one cannot be read, or is of another version.
        """
        paths = sorted(self.run_path(*within).glob(f"[0-9]*/{OUTCOME_FILE}"))
        read = [(path.parent, self.file.read(path)) for path in paths]
        return [one for folder, one in read if folder == self.folder / one.folder]

    def new_log_folder(self) -> Path:
        """Where the next cluster leaves its logs."""
        return self.folder / "logs" / f"{time.time_ns()}"


def awaits_check(folder: Path, arm: str) -> bool:
    """Whether a run of this arm was completed by a process that ended before the run was checked."""
    try:
        meta = RunMeta.load(folder)
    except JournalError:
        return False
    return meta.finished and meta.arm == arm


def set_aside(folder: Path, run: str) -> None:
    """Rename the folder of an interrupted run, if there is one, so that the run can be made again."""
    if not folder.exists():
        return
    number = 1
    while (target := folder.with_name(f"{SET_ASIDE_PREFIX}{folder.name}-{number}")).exists():
        number += 1
    folder.rename(target)
    report_progress(f"{run}: it was interrupted; what it left is in {target.name}")


def refuse_another(
    kind: str, folder: Path, seed: tuple[int | None, int], cluster: ClusterOptions, other: str
) -> None:
    """Refuse to resume a folder with other options than it was begun with. `seed` is the option and the
    folder's own; `other` says what else differs, or is empty.

    Raises:
        BadInput: something differs.
    """
    option, begun_with = seed
    found = other
    if any(cluster.given().values()):
        found = "--kafka-version, --image and --profile cannot change with --resume"
    elif option is not None and option != begun_with:
        found = f"it was begun with --seed {begun_with}"
    if found:
        raise BadInput(
            f"the folder holds another {kind}",
            where=str(folder),
            found=found,
            next_step=f"leave that out, or begin a new {kind} without --resume",
        )
