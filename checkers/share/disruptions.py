"""When a broker may forget which member of a share group holds which record, and how often it was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.groups.anomalies import Flags, Ints
from checkers.int64 import INT64_MAX
from harness.model.run import FaultWindow

_SECOND = 1_000_000_000
_REBALANCE_NS = 10 * _SECOND
"""Members learn of a new assignment within two heartbeats (group.share.heartbeat.interval.ms is 5 s)."""
_LEADER_SAMPLED_NS = 10 * _SECOND
"""A new leader is sampled within this time."""
_SESSION_MS = 45_000
_SESSION_PROPERTY = "group.share.session.timeout.ms"
_EVENTS_AT_ONCE = frozenset({"joined", "closing", "resumed", "error"})
_EVENTS_AFTER_SESSION = frozenset({"killed", "died"})


@dataclass(frozen=True)
class Disruptions:
    """Spans of time (ns) in which a broker may forget: when they begin, and when they end, both ascending."""

    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int]]) -> Disruptions:
        starts, ends = np.array(list(spans), np.int64).reshape(-1, 2).T
        return cls(np.sort(starts), np.sort(ends))

    def overlap(self, since: Ints | int, until: Ints | int) -> Flags:
        """Whether a span overlaps each period (ns, ends included)."""
        begun, ended = np.searchsorted(self.starts, until, "right"), np.searchsorted(self.ends, since)
        return np.asarray(begun > ended)

    def count(self, since: Ints, until: Ints) -> Ints:
        """The number of spans that begin in each period, plus one if any span was open at its begin."""
        begun = np.searchsorted(self.starts, until, "right") - np.searchsorted(self.starts, since, "right")
        # A period may end before it begins, if a record was delivered after the last answer.
        return np.asarray(np.maximum(begun, 0) + self.overlap(since, since), np.int64)


def disruptions_of(
    events: Iterable[tuple[int, str, str | None]],
    *,
    windows: Iterable[FaultWindow],
    leader_changes: Iterable[int],
    properties: Mapping[str, str],
) -> Disruptions:
    """When members of one group joined, ended or were paused, faults were open, and leaders changed.

    Args:
        events: of the journal of share groups: `at_ns`, `event`, and `member` (None: of the group).
        leader_changes: when a new leader epoch of a partition was first sampled, ns.
        properties: of the brokers.
    """
    session = properties.get(_SESSION_PROPERTY, "")
    session_ns = (int(session) if session.isdigit() else _SESSION_MS) * 1_000_000
    spans = [(at - _LEADER_SAMPLED_NS, at) for at in leader_changes]
    spans += [
        (window.opened_ns, INT64_MAX if window.closed_ns is None else window.closed_ns + _REBALANCE_NS)
        for window in windows
    ]
    paused: dict[str | None, int] = {}
    for at, event, member in sorted(events, key=lambda one: one[0]):
        if event == "paused":
            paused[member] = at
        elif event in _EVENTS_AT_ONCE:
            since = paused.pop(member, at) if event == "resumed" else at
            spans.append((since, at + _REBALANCE_NS))
        elif event in _EVENTS_AFTER_SESSION:
            spans.append((at, at + session_ns + _REBALANCE_NS))
    spans += [(at, INT64_MAX) for at in paused.values()]
    return Disruptions.of(spans)
