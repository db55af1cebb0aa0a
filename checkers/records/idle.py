"""Faults that hit nothing: while they were open, nothing of the run's topic was sent, waited for or read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.journals.views import Views
from harness.model.run import FaultWindow, RunMeta

_ENDLESS = 2**63 - 1
_BUCKET_BITS = 26
"""Times are compared in buckets of 2^26 ns (67 ms), whose number grows with the length of a run only. A fault
that is nearer than that to something that happened may count as having met it."""


def idle_faults(views: Views, active: Iterable[DataFrame]) -> tuple[str, ...]:
    """The names of the faults that were open during a write step and met nothing, in order of time.
    `active` is when subjects were given records or wrote some (`checkers.base.SubjectCheck`).

    A fault meets a send that was sent before it was undone and was reported, if at all, after it had begun; a
    record that a live reader or a member of a share group was given meanwhile; and an output of an
    application with a timestamp in that time. A fault that is injected between write steps is not meant to
    meet any, and one that was not shown to take effect is told elsewhere.
    """
    windows = during_writes(views.meta)
    if not windows:
        return ()
    files = views.files
    spans = [_spans(views.sends, F.col("sent_ns"), F.col("closed_ns"))]
    if files["live"]:
        spans.append(_spans(views.live, F.col("read_ns"), F.col("read_ns")))
    spans += [_spans(rows, F.col("begun"), F.col("ended")) for rows in active]
    rows = [
        (number, window.opened_ns, _ENDLESS if window.closed_ns is None else window.closed_ns)
        for number, window in enumerate(windows)
    ]
    known = F.broadcast(views.spark.createDataFrame(rows, "window int, opened bigint, healed bigint"))
    met = (F.col("begun") <= F.col("healed")) & (F.col("ended") >= F.col("opened"))
    hit = reduce(DataFrame.unionByName, spans).join(known, met).select("window").distinct().collect()
    numbers = {row.window for row in hit}
    return tuple(window.name for number, window in enumerate(windows) if number not in numbers)


def during_writes(meta: RunMeta) -> list[FaultWindow]:
    """The faults that were shown to take effect and were open during a write step, in order of time."""
    steps = [(step.started_ns, step.ended_ns) for step in meta.steps if step.kind == "write"]

    def open_in(window: FaultWindow) -> bool:
        healed = _ENDLESS if window.closed_ns is None else window.closed_ns
        return any(begun <= healed and (ended is None or ended >= window.opened_ns) for begun, ended in steps)

    windows = sorted(meta.windows, key=lambda window: window.opened_ns)
    return [window for window in windows if window.verified and open_in(window)]


def _spans(rows: DataFrame, begun: Column, ended: Column) -> DataFrame:
    """`begun` and `ended` (bigint, ns) of what happened, merged by the bucket in which it ended; what never
    ended has no end."""
    last = F.coalesce(ended, F.lit(_ENDLESS))
    return rows.groupBy(F.shiftright(last, _BUCKET_BITS).alias("bucket")).agg(
        F.min(begun).alias("begun"), F.max(last).alias("ended")
    )
