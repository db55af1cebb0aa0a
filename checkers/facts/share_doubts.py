"""When something happened after which a broker may rightly forget who holds which record of a share group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.facts.columns import Flags, Ints
from checkers.facts.offsets import NOTHING, Ranges
from harness.model.run import FaultWindow, ShareInfo
from harness.model.storage import open_parquet

_SECOND = 1_000_000_000
_REBALANCE_NS = 10 * _SECOND
"""Within two heartbeats (group.share.heartbeat.interval.ms is 5 s) members know of a new assignment."""
_SEEN_LATE_NS = 10 * _SECOND
"""A new leader is sampled within this time."""
_SESSION_MS = 45_000
_SESSION_PROPERTY = "group.share.session.timeout.ms"
_AT_ONCE = frozenset({"joined", "closing", "resumed", "error"})
_AFTER_A_SESSION = frozenset({"killed", "died"})
_FOR_EVER = 2**63 - 1


@dataclass(frozen=True)
class Doubts:
    """Spans of time (ns) in which a broker may forget; `starts` are when each begins, in order."""

    spans: Ranges
    starts: Ints

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int]]) -> Doubts:
        found = sorted(spans)
        if not found:
            return cls(NOTHING, np.empty(0, np.int64))
        start, end = (np.array(column, np.int64) for column in zip(*found, strict=True))
        return cls(Ranges(start, end).merged(), start)

    def within(self, since: Ints, until: Ints) -> Flags:
        """Whether a span touches each stretch of time."""
        first = np.searchsorted(self.spans.end, since)
        return np.asarray(first < np.searchsorted(self.spans.start, until, "right"))

    def number(self, since: Ints, until: Ints) -> Ints:
        """How many spans begin in each stretch of time, and at most one that began before it."""
        begun = np.searchsorted(self.starts, until, "right") - np.searchsorted(self.starts, since, "right")
        # A record may have been given after the moment until which it is looked at.
        return np.asarray(np.maximum(begun, 0) + self.within(since, since), np.int64)


def doubts_of(
    info: ShareInfo,
    *,
    events: Sequence[str],
    windows: Iterable[FaultWindow],
    leader_changes: Iterable[int],
    properties: Mapping[str, str],
) -> Doubts:
    """When members came, went or stood still, faults were open, and leaders changed.

    Args:
        events: the files of the journal of events.
        leader_changes: when a new leader epoch of a partition was first sampled, ns.
        properties: of the brokers.
    """
    session = properties.get(_SESSION_PROPERTY, "")
    session_ns = (int(session) if session.isdigit() else _SESSION_MS) * 1_000_000
    spans = [(at - _SEEN_LATE_NS, at) for at in leader_changes]
    spans += [
        (window.opened_ns, _FOR_EVER if window.closed_ns is None else window.closed_ns + _REBALANCE_NS)
        for window in windows
    ]
    paused: dict[str, int] = {}
    for row in _events_of(info, events):
        at, event = row["at_ns"], row["event"]
        if event == "paused":
            paused[row["member"]] = at
        elif event == "resumed":
            spans.append((paused.pop(row["member"], at), at + _REBALANCE_NS))
        elif event in _AT_ONCE:
            spans.append((at, at + _REBALANCE_NS))
        elif event in _AFTER_A_SESSION:
            spans.append((at, at + session_ns + _REBALANCE_NS))
    spans += [(at, _FOR_EVER) for at in paused.values()]
    return Doubts.of(spans)


def _events_of(info: ShareInfo, paths: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for path in paths:
        with open_parquet(path) as file:
            found += [row for row in file.read().to_pylist() if row["group"] == info.group]
    return sorted(found, key=lambda row: row["at_ns"])
