"""The result of a comparison of clients: `clients.json` in its folder."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from harness.lab.clients.client_run import ClientCell, ClientRun, cells_of
from harness.lab.clients.comparison import ClientArm
from harness.model.frozen import Frozen
from harness.model.versioned_json import Refusal, VersionedFile
from harness.run.executor import Options

CLIENTS_FILE = "clients.json"
CLIENTS_VERSION = 1


class Comparison(Frozen):
    """What a comparison was made of. `left_out` says why clients that were asked for are not in it, by their
    name; `titles` has what each fault or situation is called, `says` what a user writes for each mode
    ("client mode")."""

    command: str
    started_ns: int
    repeat: int
    seconds: float = 0.0
    titles: dict[str, str]
    says: dict[str, str]
    left_out: dict[str, str] = {}

    @classmethod
    def begun(
        cls,
        titles: Mapping[str, str],
        arms: Sequence[ClientArm],
        left_out: Mapping[str, str],
        options: Options,
    ) -> Self:
        """One that has no run yet."""
        return cls(
            command=options.command,
            started_ns=time.time_ns(),
            repeat=options.repeat,
            titles=dict(titles),
            says={f"{arm.client} {arm.mode}": _says(arm) for arm in arms},
            left_out=dict(left_out),
        )


def _says(arm: ClientArm) -> str:
    return arm.says + ("" if arm.image is None else f" (in a container of {arm.image})")


class ClientsResult(Comparison):
    """All runs of a comparison of clients that send."""

    schema_version: int = CLIENTS_VERSION
    runs: tuple[ClientRun, ...] = ()

    @property
    def cells(self) -> tuple[ClientCell, ...]:
        """The runs by fault, client and mode."""
        return cells_of(self.runs)

    def exit_code(self, judged: Sequence[str] = ()) -> int:
        """1: a run of one of the clients `judged` was invalid; 3: a cell has no run that proves anything, or
        a client was left out; else 0."""
        if any(run.verdict == "invalid" for run in self.runs if run.client in judged):
            return 1
        return 0 if self.runs and not self.left_out and all(cell.proved for cell in self.cells) else 3


def load_comparison(path: Path) -> ClientsResult:
    """Read the result of a comparison: its folder, or the file.

    Raises:
        JournalError: no such file, not of this kind, or written by another version.
    """
    return _FILE.read(path / CLIENTS_FILE if path.is_dir() else path)


_FILE = VersionedFile(
    ClientsResult,
    CLIENTS_VERSION,
    absent=Refusal(
        "there is no comparison of clients here",
        expected=f"a folder holding {CLIENTS_FILE}, as `kafka-chaos clients` leaves below results/",
        next_step="name such a folder",
    ),
    damaged=Refusal(
        "the comparison of clients cannot be read",
        next_step="restore the file, or run `kafka-chaos clients` again",
    ),
    another=Refusal(
        "the comparison was written by another version of kafka-chaos",
        next_step="use the version that wrote it, or run `kafka-chaos clients` again",
    ),
)
