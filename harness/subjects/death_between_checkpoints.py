"""Kills Flink between two checkpoints, in every run.

What a job writes after a checkpoint it writes again after a death, unless a transaction holds it. The job
dies when the output has grown by a number of records since the newest checkpoint was completed, with SIGKILL
and its JVM with it. Counted are all records of the output, those of open transactions and markers among them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

_MARK = "died"


class DeathBetweenCheckpoints:
    """The death of the job whose state is in the folder `state`, once.

    `newest` finds the newest complete checkpoint, `written` tells the number of offsets of the output. It
    dies when `after` of them were written since a checkpoint; None: never.
    """

    def __init__(
        self,
        state: Path,
        newest: Callable[[], Path | None],
        written: Callable[[], int],
        after: int | None,
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
