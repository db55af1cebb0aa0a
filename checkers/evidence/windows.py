"""Which faults were open between the send of a record and its report, as names joined by " + "."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.int64 import INT64_MAX
from checkers.sql import constants
from harness.model.fault_times import BETWEEN_NAMES
from harness.model.run import FaultWindow


def open_windows(windows: Sequence[FaultWindow], sent: Column, closed: Column, until_end: Column) -> Column:
    """Names (string) of the fault windows that overlap [`sent`, `closed`], both in ns; where
    `until_end` (lost and vanished records, unprocessed inputs), [`sent`, end of the run].

    A send without a report counts as open until the end; what was never sent has no windows (empty).
    """
    until = F.when(until_end, F.lit(INT64_MAX)).otherwise(F.coalesce(closed, F.lit(INT64_MAX)))
    return _names(windows, lambda begin, end: (until >= begin) & (sent <= end))


def split_windows(windows: Sequence[FaultWindow]) -> tuple[Column, Column, Column]:
    """The faults of findings split by the time of the report, as `harness.model.fault_times` does: those that
    had ended, that were open, and that began later (three columns of names).

    Of lost records, the first are the faults that were open after the send and ended before the report, the
    second those that were open at the report, the third those that began after it. Of vanished records, the
    second are those that were open between send and report, the third those that began after the report.
    Findings of other classes, and those without a report, keep their `windows` as the second; the others are
    empty.
    """
    finding, sent, closed = F.col("finding"), F.col("sent_ns"), F.col("closed_ns")
    lost = F.coalesce((finding == "lost") & closed.isNotNull(), F.lit(False))
    vanished = F.coalesce((finding == "vanished") & closed.isNotNull(), F.lit(False))
    ended = _names(windows, lambda _, end: lost & (sent <= end) & (closed > end))
    at_report = _names(
        windows,
        lambda begin, end: (closed >= begin) & ((lost & (closed <= end)) | (vanished & (sent <= end))),
    )
    later = _names(windows, lambda begin, _: (lost | vanished) & (closed < begin))
    return ended, F.when(lost | vanished, at_report).otherwise(F.col("windows")), later


def _names(windows: Sequence[FaultWindow], holds: Callable[[Column, Column], Column]) -> Column:
    """The joined names of the windows for which the condition holds (null counts as no)."""
    if not windows:
        return F.lit("")
    ends = (INT64_MAX if window.closed_ns is None else window.closed_ns for window in windows)
    rows = [(window.name, window.opened_ns, end) for window, end in zip(windows, ends, strict=True)]
    # A condition for each window would make a plan of hundreds of faults larger than a JVM can hold.
    table = constants(("name", "begin", "end"), rows)
    held = F.filter(table, lambda window: F.coalesce(holds(window["begin"], window["end"]), F.lit(False)))
    return F.array_join(F.transform(held, lambda window: window["name"]), BETWEEN_NAMES)
