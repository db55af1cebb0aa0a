"""A program of the user's as a process of this machine, in a process group of its own.

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

from harness.model.environment import users_environment
from harness.model.errors import BadInput
from harness.model.host import processes
from harness.model.host.fetched import last_lines
from harness.model.host.orphans import MARK, end_marked
from harness.model.polling import poll_within

STOP_SECONDS = 20.0
_KILLED = 128
_TAIL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ProcessCommand:
    """What starts one process: arguments, and variables that are added to the environment."""

    arguments: tuple[str, ...]
    environment: dict[str, str]


class ProcessGroup:
    """One program. `mark` names what it belongs to, `log` is the file that takes its output. Messages call it
    `noun`, and say which `key` of the experiment to correct."""

    def __init__(
        self, name: str, command: ProcessCommand, log: Path, mark: str, *, noun: str, key: str
    ) -> None:
        self.name, self.log, self._command, self._mark = name, log, command, mark
        self._noun, self._key = noun, key
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
            f"the {self._noun}'s output cannot be written",
            where=self.log,
            expected="a writable results folder",
            next_step="name another folder with --results",
        ):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            out = self.log.open("ab")
        environment = {**users_environment(), **self._command.environment, MARK: self._mark}
        with out:
            self._begin = out.tell()
            self._started_ns = time.time_ns()
            self._terminated = False
            with BadInput.for_os_errors(
                f"the {self._noun} cannot be started",
                where=" ".join(self._command.arguments),
                expected="a command that can be executed",
                next_step=f"correct {self._key}",
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

    def exit_code(self) -> int | None:
        """Its exit code, as a shell gives it (137: SIGKILL); None while it runs."""
        return None if self.is_running() else self._code

    def started_ns(self) -> int:
        return self._started_ns

    def ended_ns(self) -> int:
        self.is_running()
        return self._last_end_ns

    def last_lines(self, count: int = 8) -> str:
        """The last lines that it has printed since it was last started."""
        with suppress(OSError), self.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._begin, size - _TAIL_BYTES))
            return last_lines(log.read().decode(errors="replace"), count)
        return last_lines("", count)

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to end, and kill it if it still runs after `seconds`."""
        if self.is_running():
            self._send(signal.SIGCONT)
            # One that is ending may have given up its handler already: a second SIGTERM would cut it short.
            if not self._terminated:
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

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running():
            processes.send_signal(self._process.pid, number)
