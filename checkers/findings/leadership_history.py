"""Which broker led a partition when, as the brokers themselves reported to the sampler."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from checkers.facts.columns import NULL, Flags, Ints
from checkers.facts.places import ranked
from checkers.journals.footers import JournalFile
from harness.model.storage import open_parquet

MOST_SPANS = 10_000
_FOR_EVER = 2**63 - 1

LeaderSpan = tuple[int, int, int, int, int]
"""Partition, first and last moment (ns), broker, leader epoch."""


@dataclass(frozen=True)
class LeadershipHistory:
    """Spans of time in which a broker reported that it led a partition of the run's topic in a leader
    epoch."""

    spans: tuple[LeaderSpan, ...]


def read_leadership(files: Sequence[JournalFile], topic: str) -> LeadershipHistory:
    """The spans in the samples.

    A span lasts until the broker reports another leader, or another epoch of its own. A broker that is cut
    off may still believe that it leads, so spans may overlap.
    """
    led: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    not_led: dict[tuple[int, int], list[int]] = defaultdict(list)
    for file in files:
        with open_parquet(file.path) as parquet:
            table = parquet.read(columns=["at_ns", "broker", "topic", "partition", "leader", "leader_epoch"])
        table = table.filter(pc.equal(table.column("topic"), topic))
        for row in table.to_pylist():
            place = row["partition"], row["broker"]
            if row["leader"] == row["broker"] and row["leader_epoch"] is not None:
                led[place].append((row["at_ns"], row["leader_epoch"]))
            else:
                not_led[place].append(row["at_ns"])
    spans: list[LeaderSpan] = []
    for (partition, broker), moments in led.items():
        moments.sort()
        ends = sorted(not_led[partition, broker])
        begun, epoch = moments[0]
        for at, now in [*moments[1:], (_FOR_EVER, -1)]:
            if now != epoch:
                # Until it reported another leader, or another epoch of its own.
                next_end = bisect_left(ends, begun)
                end = min(ends[next_end], at) if next_end < len(ends) else at
                spans.append((partition, begun, end, broker, epoch))
                begun, epoch = at, now
    return LeadershipHistory(tuple(sorted(spans)[:MOST_SPANS]))


def acknowledging_leaders(
    leadership: LeadershipHistory, partition: Ints, closed: Ints, wanted: Flags
) -> tuple[Ints, Ints]:
    """The broker that led each partition when the report came, and its leader epoch; null: not known, or not
    wanted.

    If several brokers believed that they led, it is the one of the lowest epoch, which the others replaced.
    """
    broker, epoch = np.full(len(closed), NULL, np.int64), np.full(len(closed), NULL, np.int64)
    for number in ranked(partition[wanted])[0].tolist() if leadership.spans else ():
        rows = np.flatnonzero(wanted & (partition == number) & (closed != NULL))
        rows = rows[np.argsort(closed[rows], kind="stable")]
        moments = closed[rows]
        spans = [span for span in leadership.spans if span[0] == number]
        # The lowest epoch comes last and stays.
        for _, begun, ended, leader, era in sorted(spans, key=_by_epoch, reverse=True):
            inside = rows[np.searchsorted(moments, begun) : np.searchsorted(moments, ended, "right")]
            broker[inside], epoch[inside] = leader, era
    return broker, epoch


def _by_epoch(span: LeaderSpan) -> tuple[int, ...]:
    _, begun, ended, broker, epoch = span
    return epoch, begun, ended, broker
