"""The programs of the user's that a run has started: watched until they end, then described."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from harness.model.errors import BadInput
from harness.model.host.process_group import STOP_SECONDS, ProcessGroup
from harness.model.polling import poll_within
from harness.model.program_meta import ProgramMeta
from workloads.own.container_program import ContainerProgram

EXIT_SECONDS = 2.0
"""How long a program may take to end by itself once nothing more is expected of it."""
_WATCH_SECONDS = 0.1


Program = ProcessGroup | ContainerProgram


class StartedPrograms:
    """Programs of one arm. `start` starts them, `stop` ends them gracefully, `remove` at once."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._programs = tuple(programs)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._stopped: set[Program] = set()
        self._failed: dict[Program, str] = {}
        self._watcher = threading.Thread(target=self._watch, name="own programs", daemon=True)

    def start(self) -> None:
        """Start all. One that cannot be started is a problem of the run (`problems`)."""
        for program in self._programs:
            try:
                program.start()
            except BadInput as error:
                self._failed[program] = str(error)
        self._watcher.start()

    @property
    def problems(self) -> tuple[str, ...]:
        """Why programs could not be started."""
        return tuple(self._failed.values())

    @property
    def ended(self) -> bool:
        """Whether none runs."""
        with self._lock:
            return not any(program.is_running() for program in self._programs)

    def stop(self, seconds: float) -> None:
        """End all: one that has not ended by itself by now is asked to (SIGTERM), and killed if it still runs
        after `seconds`, of which `STOP_SECONDS` are the most. Safe to call again."""
        poll_within(min(EXIT_SECONDS, seconds), lambda: None if self.ended else "running", every=0.05)
        self._over.set()
        with self._lock:
            running = [program for program in self._programs if program.is_running()]
            self._stopped.update(running)
            for program in running:
                program.terminate()
            for program in running:
                program.stop(min(STOP_SECONDS, seconds))

    def remove(self) -> None:
        """End all at once, and what they have started outside of their groups. Safe to call again."""
        self._over.set()
        with self._lock:
            for program in self._programs:
                if program.is_running():
                    self._stopped.add(program)
                program.remove()

    def describe_ends(self) -> str:
        """How programs ended by themselves, in words: those that failed, else all; what others have printed
        last, if none has ended; empty if none was started."""
        described = [meta for meta in self.metas() if meta.started_ns]
        ended = [meta for meta in described if meta.ended_ns is not None and not meta.stopped]
        failed = [meta for meta in ended if meta.code]
        return "; ".join(map(describe_program, failed or ended or described))

    def metas(self) -> tuple[ProgramMeta, ...]:
        """What is known of each so far."""
        with self._lock:
            return tuple(map(self._meta, self._programs))

    def _meta(self, program: Program) -> ProgramMeta:
        failed, running = self._failed.get(program), program.is_running()
        return ProgramMeta(
            name=program.name,
            output=f"{program.log.parent.name}/{program.log.name}",
            started_ns=0 if failed is not None else program.started_ns(),
            ended_ns=None if running or failed is not None else program.ended_ns(),
            code=None if running else program.exit_code(),
            stopped=program in self._stopped,
            last_lines=failed or program.last_lines(),
        )

    def _watch(self) -> None:
        """Look often, since a program's end has the time at which it is seen."""
        while not self._over.wait(_WATCH_SECONDS) and not self.ended:
            pass


def describe_program(meta: ProgramMeta) -> str:
    """How a program ended, and its last lines, in words: "the program ended by itself with code 1 after
    0.2 s; its last lines: ..."."""
    if meta.ended_ns is None:
        return f"the {meta.name} was running; its last lines: {meta.last_lines}"
    seconds = (meta.ended_ns - meta.started_ns) / 1e9
    how = "was ended by the run" if meta.stopped else f"ended by itself with code {meta.code}"
    return f"the {meta.name} {how} after {seconds:.1f} s; its last lines: {meta.last_lines}"
