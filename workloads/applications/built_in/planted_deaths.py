"""Deaths of applications at the moment that an experiment wants, each once, whatever the machine's load."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

_POLL_SECONDS = 0.005
_MARK = "died"


class PlantedDeath:
    """The death of a driver of Spark between the write of a batch and its commit, in batch `batch` or a later
    one of this checkpoint, once; None: none.

    Spark writes `offsets/N` before batch N, and `commits/N` after the batch's sink has written. Killing the
    driver from outside needs luck on a busy machine: it may be in the next batch by then. Here the folder
    `commits` is put away once batch N has begun, with a file in its place. The next commit (of batch N, or of
    a later one) fails after the sink's write; the folder is put back, and Spark and this process are killed
    with SIGKILL. What is left on disk is what a driver leaves that dies at that moment.
    """

    def __init__(self, checkpoint: Path, batch: int | None) -> None:
        self._commits = checkpoint / "commits"
        self._away = checkpoint / "commits.away"
        self._offsets = checkpoint / "offsets"
        self._mark = checkpoint.parent / _MARK
        self._batch = batch
        self._jvm = 0
        self._planted = threading.Event()

    def clear(self) -> None:
        """Put the folder of commits back, if another death left it away."""
        if self._away.is_dir():
            self._commits.unlink(missing_ok=True)
            self._away.rename(self._commits)

    def plant(self, jvm: int) -> None:
        """Wait for the batch in a thread; `jvm` is the process that dies with this one."""
        self._jvm = jvm
        if self._batch is not None and not self._mark.exists():
            threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        # Batch 0 needs no special case, because the folder of commits exists from the first commit on.
        while not (self._offsets / str(self._batch)).exists() or not self._commits.is_dir():
            time.sleep(_POLL_SECONDS)
        self._planted.set()
        self._commits.rename(self._away)
        self._commits.touch()

    def die_if_planted(self) -> None:
        """Called when the query has failed: does not return if the planted death was the reason."""
        if not self._planted.is_set():
            return
        self._mark.touch()
        self.clear()
        os.kill(self._jvm, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


class DeathBetweenCheckpoints:
    """The death of a job of Flink whose state is in the folder `state`, between two checkpoints, once.

    What a job writes after a checkpoint it writes again after a death, unless a transaction holds it.
    `newest` finds the newest complete checkpoint, `written` tells the number of offsets of the output, those
    of open transactions and markers among them. It dies when `after` of them were written since a checkpoint
    (None: never), with SIGKILL and its JVM with it.
    """

    def __init__(
        self, state: Path, newest: Callable[[], Path | None], written: Callable[[], int], after: int | None
    ) -> None:
        self._mark = state / _MARK
        self._newest, self._written = newest, written
        self._after = None if self._mark.exists() else after
        self._checkpoint: Path | None = None
        self._at_checkpoint = 0

    def is_due(self) -> bool:
        """Whether it is time to die. Call it repeatedly."""
        if self._after is None:
            return False
        newest = self._newest()
        if newest is None:
            return False
        written = self._written()
        if newest != self._checkpoint:
            self._checkpoint, self._at_checkpoint = newest, written
        return written - self._at_checkpoint >= self._after

    def die(self, jvm: int) -> None:
        """Kill the JVM and this process; they die only once."""
        self._mark.touch()
        os.kill(jvm, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
