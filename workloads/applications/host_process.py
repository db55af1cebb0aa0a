"""An instance of an application as a process of this machine, at which faults can be aimed."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.cluster.node_control import RunningNodes
from harness.model.errors import FaultError
from harness.model.host import processes
from harness.model.host.process_group import ProcessCommand, ProcessGroup


class HostProcess(ProcessGroup):
    """One instance. `mark` names what it belongs to, `log` is the file that takes its output.

    Its methods, which a `ContainerInstance` has too, have the names and the meaning of those of a node of the
    cluster (`faults.targets.fault_cluster.FaultCluster`), so that faults can be aimed at it.
    """

    def __init__(self, name: str, command: ProcessCommand, log: Path, mark: str) -> None:
        super().__init__(name, command, log, mark, noun="application", key="`run` below `application`")

    def pause(self) -> None:
        """Freeze every process of its group (SIGSTOP)."""
        self._send(signal.SIGSTOP)

    def unpause(self) -> None:
        self._send(signal.SIGCONT)

    def is_paused(self) -> bool:
        """Whether every process of its group is stopped."""
        states = {member.state for member in self._members()}
        return bool(states) and states <= {"T", "t"}

    def log_since(self, since_ns: int) -> str:  # noqa: ARG002 - its lines have no times
        """What it has printed since it was last started."""
        with suppress(OSError), self.log.open("rb") as log:
            log.seek(self._begin)
            return log.read().decode(errors="replace")
        return ""

    def stats(self) -> dict[str, Any]:
        """The CPU time of its group, as `docker stats` tells it."""
        used = sum(member.cpu_ns for member in self._members())
        return {"cpu_stats": {"cpu_usage": {"total_usage": used}}}

    @property
    def containers(self) -> RunningNodes:
        """It has none.

        Raises:
            FaultError: always.
        """
        raise FaultError(
            "this fault needs an application in a container",
            where=self.name,
            expected="`run: {container: ...}`, which has a network and control groups of its own",
            found="a process of this machine",
            next_step="run the application as a `container`",
        )

    def table_size(self, folder: str) -> tuple[tuple[str, int], ...]:
        """Name and size of every file below a folder, in order of their names."""
        files = []
        # Unlike Path.rglob, os.walk passes over a folder that is removed meanwhile.
        for within, _, names in os.walk(folder):
            for path in (Path(within, name) for name in names):
                with suppress(OSError):  # It was renamed or removed meanwhile.
                    files.append((str(path.relative_to(folder)), path.stat().st_size))
        return tuple(sorted(files))

    def table_bytes(self, folder: str) -> int:
        """The size of all files below a folder."""
        return sum(size for _, size in self.table_size(folder))

    def _members(self) -> tuple[processes.GroupMember, ...]:
        return processes.members(self._process.pid) if self._process and self.is_running() else ()
