"""An instance of an application as a process of this machine, in a process group of its own.

It is signalled as a group, which the harness made for it, and never by a name. Its first process is not
reaped before the rest of its group has been killed, so the number of the group cannot belong to others.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cluster.node_control import RunningNodes
from harness.model.environment import users_environment
from harness.model.errors import BadInput, FaultError
from harness.model.host import processes
from harness.model.host.fetched import last_lines
from harness.model.host.orphans import MARK, end_marked
from harness.model.polling import poll_within

STOP_SECONDS = 20.0
_KILLED = 128


@dataclass(frozen=True, slots=True)
class InstanceCommand:
    """What starts one instance: arguments, and variables that are added to the environment."""

    arguments: tuple[str, ...]
    environment: dict[str, str]


class HostProcess:
    """One instance. `mark` names what it belongs to, `log` is the file that takes its output.

    Its methods, which a `ContainerInstance` has too, have the names and the meaning of those of a node of the
    cluster (`faults.targets.fault_cluster.FaultCluster`), so that faults can be aimed at it.
    """

    def __init__(self, name: str, command: InstanceCommand, log: Path, mark: str) -> None:
        self.name, self._command, self._log, self._mark = name, command, log, mark
        self._process: subprocess.Popen[bytes] | None = None
        self._started_ns = 0
        self._last_end_ns = 0
        self._code: int | None = None
        self._begin = 0
        self._terminated = False

    @property
    def pid(self) -> int | None:
        """Process id of the first process, which is also the number of the group."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, each time with the same command; does nothing if it runs. If it is still ending, wait for
        that first.

        Raises:
            BadInput: the command cannot be started.
        """
        if self._terminated:
            self._await_end(STOP_SECONDS)
        if self.is_running():
            return
        with BadInput.for_os_errors(
            "the application's output cannot be written",
            where=self._log,
            expected="a writable results folder",
            next_step="name another folder with --results",
        ):
            self._log.parent.mkdir(parents=True, exist_ok=True)
            out = self._log.open("ab")
        environment = {**users_environment(), **self._command.environment, MARK: self._mark}
        with out:
            self._begin = out.tell()
            self._started_ns = time.time_ns()
            self._terminated = False
            with BadInput.for_os_errors(
                "the application cannot be started",
                where=" ".join(self._command.arguments),
                expected="a command that can be executed",
                next_step="correct `run` below `application`",
            ):
                self._process = subprocess.Popen(
                    self._command.arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
                self._code = None  # Not before: the group that has ended would be signalled.

    def is_running(self) -> bool:
        """Whether its first process has not ended. When it has, the rest of its group is killed."""
        process = self._process
        if process is None or self._code is not None:
            return False
        with suppress(ChildProcessError):
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return True
        processes.send_signal(process.pid, signal.SIGKILL)
        code = process.wait()
        self._last_end_ns = time.time_ns()
        self._code = _KILLED - code if code < 0 else code
        return False

    def kill(self) -> None:
        """SIGKILL to its whole group."""
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM to its whole group; returns before it has ended."""
        self._terminated = True
        self._send(signal.SIGTERM)

    def pause(self) -> None:
        """Freeze every process of its group (SIGSTOP)."""
        self._send(signal.SIGSTOP)

    def unpause(self) -> None:
        self._send(signal.SIGCONT)

    def is_paused(self) -> bool:
        """Whether every process of its group is stopped."""
        states = {member.state for member in self._members()}
        return bool(states) and states <= {"T", "t"}

    def exit_code(self) -> int | None:
        """Its exit code, as a shell gives it (137: SIGKILL); None while it runs."""
        return None if self.is_running() else self._code

    def started_ns(self) -> int:
        return self._started_ns

    def log_since(self, since_ns: int) -> str:  # noqa: ARG002 - its lines have no times
        """What it has printed since it was last started."""
        with suppress(OSError), self._log.open("rb") as log:
            log.seek(self._begin)
            return log.read().decode(errors="replace")
        return ""

    def ended_ns(self) -> int:
        self.is_running()
        return self._last_end_ns

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

    def last_lines(self, count: int = 8) -> str:
        """The last lines that it has printed since it was last started."""
        return last_lines(self.log_since(0), count)

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to end, and kill it if it still runs after `seconds`."""
        if self.is_running():
            self.unpause()
            self.terminate()
            self._await_end(seconds)

    def remove(self) -> None:
        """End it at once, and what it has started outside of its group."""
        self.kill()
        self._await_end(STOP_SECONDS)
        end_marked(self._mark)

    def _await_end(self, seconds: float) -> None:
        if poll_within(seconds, lambda: "running" if self.is_running() else None, every=0.05) is not None:
            self.kill()
            poll_within(STOP_SECONDS, lambda: "running" if self.is_running() else None, every=0.05)
        self._terminated = False

    def _members(self) -> tuple[processes.GroupMember, ...]:
        return processes.members(self._process.pid) if self._process and self.is_running() else ()

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running():
            processes.send_signal(self._process.pid, number)
