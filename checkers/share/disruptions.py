"""When something happened after which a broker may rightly forget who holds which record of a share group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.groups.anomalies import MOST, Flags, Ints
from harness.model.run import FaultWindow

_SECOND = 1_000_000_000
_REBALANCE_NS = 10 * _SECOND
"""Within two heartbeats (group.share.heartbeat.interval.ms is 5 s) members know of a new assignment."""
_SEEN_LATE_NS = 10 * _SECOND
"""A new leader is sampled within this time."""
_SESSION_MS = 45_000
_SESSION_PROPERTY = "group.share.session.timeout.ms"
_AT_ONCE = frozenset({"joined", "closing", "resumed", "error"})
_AFTER_A_SESSION = frozenset({"killed", "died"})


@dataclass(frozen=True)
class Disruptions:
    """Spans of time (ns) in which a broker may forget: when they begin, and when they end, both ascending."""

    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int]]) -> Disruptions:
        starts, ends = np.array(list(spans), np.int64).reshape(-1, 2).T
        return cls(np.sort(starts), np.sort(ends))

    def within(self, since: Ints | int, until: Ints | int) -> Flags:
        """Whether a span touches each stretch of time."""
        begun, ended = np.searchsorted(self.starts, until, "right"), np.searchsorted(self.ends, since)
        return np.asarray(begun > ended)

    def number(self, since: Ints, until: Ints) -> Ints:
        """How many spans begin in each stretch of time, and at most one that began before it."""
        begun = np.searchsorted(self.starts, until, "right") - np.searchsorted(self.starts, since, "right")
        # A record may have been given after the moment until which it is looked at.
        return np.asarray(np.maximum(begun, 0) + self.within(since, since), np.int64)


def disruptions_of(
    events: Iterable[tuple[int, str, str | None]],
    *,
    windows: Iterable[FaultWindow],
    leader_changes: Iterable[int],
    properties: Mapping[str, str],
) -> Disruptions:
    """When members of one group came, went or stood still, faults were open, and leaders changed.

    Args:
        events: of the journal of share groups: `at_ns`, `event`, and `member` (None: of the group).
        leader_changes: when a new leader epoch of a partition was first sampled, ns.
        properties: of the brokers.
    """
    session = properties.get(_SESSION_PROPERTY, "")
    session_ns = (int(session) if session.isdigit() else _SESSION_MS) * 1_000_000
    spans = [(at - _SEEN_LATE_NS, at) for at in leader_changes]
    spans += [
        (window.opened_ns, MOST if window.closed_ns is None else window.closed_ns + _REBALANCE_NS)
        for window in windows
    ]
    paused: dict[str | None, int] = {}
    for at, event, member in sorted(events, key=lambda one: one[0]):
        if event == "paused":
            paused[member] = at
        elif event in _AT_ONCE:
            since = paused.pop(member, at) if event == "resumed" else at
            spans.append((since, at + _REBALANCE_NS))
        elif event in _AFTER_A_SESSION:
            spans.append((at, at + session_ns + _REBALANCE_NS))
    spans += [(at, MOST) for at in paused.values()]
    return Disruptions.of(spans)
