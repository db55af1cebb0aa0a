"""Which faults were open when a record was acknowledged, which had ended before, and which began later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.finding_class import FindingClass
from harness.model.run import FaultWindow

BETWEEN_NAMES = " + "
UNTIL_THE_END = (FindingClass.LOST, FindingClass.VANISHED)
"""What may have happened at any time since the send, so that faults to the end of the run are named."""
WITHOUT_FAULT = (FindingClass.UNPROCESSED, FindingClass.REPROCESSED)
"""Of which it is said that no fault was in force where none was: then the application is the reason."""
MAY_HAVE_PASSED = "faults while it may have been passed over:"
"""Of an unprocessed input: since it was sent, or between the outputs around it, if their times are known."""


@dataclass(frozen=True, slots=True)
class FaultTimes:
    """Names of the faults of one record by the moment of its report, in the order in which they began.

    `ended` were open after the send and ended before the report, `open` were open at the report (a window
    includes both of its ends), `later` began after it.
    """

    ended: tuple[str, ...]
    open: tuple[str, ...]
    later: tuple[str, ...]


def fault_times(windows: Sequence[FaultWindow], sent_ns: int, closed_ns: int) -> FaultTimes:
    """The faults of a record that was sent at `sent_ns` and reported at `closed_ns`."""
    begun = [window for window in windows if window.opened_ns <= closed_ns]
    return FaultTimes(
        ended=tuple(
            window.name
            for window in begun
            if window.closed_ns is not None and sent_ns <= window.closed_ns < closed_ns
        ),
        open=tuple(
            window.name for window in begun if window.closed_ns is None or closed_ns <= window.closed_ns
        ),
        later=tuple(window.name for window in windows if window.opened_ns > closed_ns),
    )


def when_acknowledged(ended: str, during: str) -> str:
    """ "after kill-1 and during cut-1"; either may be empty, and both are names joined by `BETWEEN_NAMES`."""
    return " and ".join(f"{word} {names}" for word, names in (("after", ended), ("during", during)) if names)
