"""What the journals hold of one partition of a share group, and when a broker may forget which of its members
holds which record, and how often it was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.groups.anomalies import NULL, Flags, Ints, integers, offsets_of, rows_of_journal
from checkers.int64 import INT64_MAX
from harness.model.run import FaultWindow, ShareInfo

_SECOND = 1_000_000_000
_REBALANCE_NS = 10 * _SECOND
"""Members learn of a new assignment within two heartbeats (group.share.heartbeat.interval.ms is 5 s)."""
_LEADER_SAMPLED_NS = 10 * _SECOND
"""A new leader is sampled within this time."""
_SESSION_MS = 45_000
_SESSION_PROPERTY = "group.share.session.timeout.ms"
_EVENTS_AT_ONCE = frozenset({"joined", "closing", "resumed", "error"})
_EVENTS_AFTER_SESSION = frozenset({"killed", "died"})


_FINAL = pa.array(["accept", "reject"])
"""Acknowledgements after which a record is not delivered again."""


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
    for at, event, member in sorted(events, key=lambda row: row[0]):
        if event == "paused":
            paused[member] = at
        elif event in _EVENTS_AT_ONCE:
            since = paused.pop(member, at) if event == "resumed" else at
            spans.append((since, at + _REBALANCE_NS))
        elif event in _EVENTS_AFTER_SESSION:
            spans.append((at, at + session_ns + _REBALANCE_NS))
    spans += [(at, INT64_MAX) for at in paused.values()]
    return Disruptions.of(spans)


@dataclass(frozen=True)
class ShareGroup:
    """A share group, and the times at which a broker may forget which of its members holds a record."""

    info: ShareInfo
    disruptions: Disruptions

    @property
    def lock_ns(self) -> int:
        return round(self.info.lock_seconds * 1e9)


class SharePartition:
    """The deliveries of one partition of a share group, by offset and time, as arrays with one element each.

    A record that a client returned was acquired at some time from `asked_ns` to `acquired_ns`. An
    acknowledgement took effect at some time after `acknowledged_ns`, or not at all, unless it was answered
    without an error.

    One element per delivery: `rows` are those of the journal, with `known_member`, the name of the member if
    it is one of the group's, and `member_index`. `final` says that the record was accepted or rejected,
    `finished_ns` when the answer to that came without an error (`INT64_MAX`: it did not). `record` is the
    index of the record.

    One element per record: `first` and `last` are the indexes of its first and its last delivery, `times` is
    the number of its deliveries, `max_count` the greatest delivery count that the broker reported, and
    `has_final` says that it was ever accepted or rejected.

    `log` are the offsets that the log holds at the end. `answer` is the last row of the journal of share
    offsets about the partition (None: there is none).
    """

    def __init__(self, rows: pa.Table, group: ShareGroup) -> None:
        """From the rows of several journals, as `checkers.share.find` passes them to the rules."""
        self.group = group
        deliveries = rows_of_journal(rows, "deliveries")
        index = pc.index_in(deliveries["member"], pa.array(group.info.members, pa.string()))
        known = pc.if_else(pc.is_valid(index), deliveries["member"], pa.scalar(None, pa.string()))
        deliveries = deliveries.append_column("known_member", known)
        deliveries = deliveries.append_column("member_index", pc.fill_null(index, -1))
        order = ("offset", "acquired_ns", "asked_ns", "member_index", "session")
        self.rows = deliveries.sort_by([(name, "ascending") for name in order])
        self.offset, self.acquired_ns, self.asked_ns, self.member_index, self.delivery_count = (
            integers(self.rows[name]) for name in (*order[:4], "delivery_count")
        )
        answered = integers(self.rows["answered_ns"])
        self.final = integers(pc.is_in(self.rows["acknowledgement"], _FINAL)) == 1
        succeeded = (answered != NULL) & (integers(pc.is_null(self.rows["error"])) == 1)
        self.finished_ns = np.where(self.final & succeeded, answered, INT64_MAX)
        _, self.first, self.record, self.times = np.unique(
            self.offset, return_index=True, return_inverse=True, return_counts=True
        )
        self.last = self.first + self.times - 1
        self.max_count = np.maximum.reduceat(self.delivery_count, self.first)
        self.has_final = np.maximum.reduceat(self.final, self.first)
        self.log = offsets_of(rows_of_journal(rows, "log"))
        # An answer without a start offset after one with it is left out: a group keeps its start offset.
        self.answer = max(
            rows_of_journal(rows, "share_offsets").to_pylist(),
            key=lambda answer: (answer["start_offset"] is not None, answer["at_ns"]),
            default=None,
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def start_offset(self) -> int | None:
        """The group's start offset; None: it has none yet, or it is not known."""
        return self.answer["start_offset"] if self.answer else None

    @property
    def finished_below(self) -> int:
        """All records below this offset are finished for the group (0: none is known to be): those below its
        start offset and, if it has no lag, all up to the last one that its members had been given by then,
        because the start offset is moved later."""
        if self.answer is None:
            return 0
        start = self.start_offset or 0
        if self.answer["lag"] != 0:
            return start
        delivered = self.offset[self.acquired_ns <= self.answer["at_ns"]]
        return max(start, int(delivered.max(initial=-1)) + 1)

    def redelivered(self, distance: int) -> Ints:
        """The indexes of deliveries whose record was delivered again `distance` deliveries later, with
        nothing in between after which a broker may forget."""
        indexes = np.arange(max(0, len(self) - distance))
        indexes = indexes[self.record[indexes] == self.record[indexes + distance]]
        disrupted = self.group.disruptions.overlap(
            self.asked_ns[indexes], self.acquired_ns[indexes + distance]
        )
        return np.asarray(indexes[~disrupted])

    def first_of_each_record(self, flags: Flags) -> tuple[Ints, Ints, Ints]:
        """Of the records of which any delivery is flagged: their indexes, the first such delivery of each,
        and the number of such deliveries."""
        rows = np.flatnonzero(flags)
        records, at, times = np.unique(self.record[rows], return_index=True, return_counts=True)
        return records, rows[at], times
