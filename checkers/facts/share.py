"""Deliveries of share groups with an anomaly (KIP-932).

Only what no order of events at the broker explains is an anomaly. A record that a client returned was
acquired at some time from `asked_ns` to `acquired_ns`; an acknowledgement took effect at some time after
`acknowledged_ns` or not at all, unless it was answered without an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import MOST, NULL, ColumnBatch, Flags, Ints
from checkers.facts.offsets import NOTHING, Ranges
from checkers.facts.share_doubts import Doubts
from checkers.facts.share_rows import ACCEPT, REJECT, ShareStarts
from harness.model.run import ShareInfo

LOST, AGAIN, DOUBLE_LEASE, OVER_LIMIT, UNSEEN, STUCK, REDELIVERED = range(7)
"""Kinds of rows: a record that no member was given; one given again although it was finished; one that two
members held; one given too often; one that was finished without having been acknowledged; one that is not
given to anybody; one given more than once."""

SHARED = ("kind", "member", "other", "spot", "offset", "count", "seen", "producer", "seq")
"""One row per anomaly.

`member` is the number of the member that was given the record first (of `AGAIN`: that acknowledged it), or of
the last one that had it, `other` that of the second one (null: does not apply). `offset` is the first of
`count` offsets for `LOST` and `STUCK`; else `count` is the number of deliveries that are meant. `seen` is the
greatest delivery count that the broker told, or where the group begins for `LOST` and `STUCK` (null: it
never began)."""


@dataclass(frozen=True)
class ShareHistory:
    """What is known of a share group: its deliveries (`share_rows.ROWS`), its last start offsets, what the
    log holds at the end by spot, and when something happened that explains what else were an anomaly."""

    info: ShareInfo
    rows: ColumnBatch
    starts: ShareStarts
    there: Mapping[int, Ranges]
    doubts: Doubts

    @property
    def lock_ns(self) -> int:
        return round(self.info.lock_seconds * 1e9)

    def finished(self, spot: int) -> int:
        """All records below this offset are finished for the group. Its start offset lags behind; without a
        lag, so are all up to the last one that it had been given by then."""
        start = self.starts.start[spot]
        if self.starts.lag[spot] != 0:
            return start
        by_then = self.rows["acquired_ns"] <= self.starts.at_ns[spot]
        given = self.rows["offset"][(self.rows["spot"] == spot) & by_then]
        return max(start, int(given.max(initial=-1)) + 1)


def share_anomalies(history: ShareHistory) -> ColumnBatch:
    """The anomalies of a group, as rows of `SHARED`."""
    rows, info = history.rows, history.info
    records = _Records.of(rows)
    found = [
        _again(rows, records),
        _double_lease(history, records),
        _over_limit(history, records),
        _unseen(history, records),
        _redelivered(rows, records),
    ]
    # So low a limit is reached with members that were killed or cut off before they could tell.
    may_be_unseen = info.delivery_limit <= _FEW
    for spot, start in history.starts.start.items():
        there = history.there.get(spot, NOTHING)
        given = Ranges.of(np.unique(rows["offset"][rows["spot"] == spot]))
        finished = history.finished(spot)
        if not may_be_unseen and finished > 0:
            found.append(_runs(LOST, spot, there.between(0, finished - 1).without(given), start))
        found.append(_stuck(history, records, spot, start, there))
    return ColumnBatch.joined(found, SHARED)


_FEW = 2


@dataclass(frozen=True)
class _Records:
    """The rows of each record, which stand together: the first, and one behind the last."""

    first: Ints
    end: Ints
    of_row: Ints
    """The number of the record of each row."""

    @classmethod
    def of(cls, rows: ColumnBatch) -> _Records:
        new = np.ones(len(rows), bool)
        new[1:] = (rows["spot"][1:] != rows["spot"][:-1]) | (rows["offset"][1:] != rows["offset"][:-1])
        first = np.flatnonzero(new)
        end = np.append(first[1:], len(rows)).astype(np.int64) if len(first) else first
        return cls(first, end, np.cumsum(new) - 1)

    def most(self, values: Ints) -> Ints:
        return np.maximum.reduceat(values, self.first) if len(self.first) else values[:0]

    def least(self, values: Ints) -> Ints:
        return np.minimum.reduceat(values, self.first) if len(self.first) else values[:0]

    def total(self, flags: Flags) -> Ints:
        return np.add.reduceat(flags.astype(np.int64), self.first) if len(self.first) else self.first


def _finishing(rows: ColumnBatch) -> Flags:
    return np.asarray((rows["word"] == ACCEPT) | (rows["word"] == REJECT))


def _finished_ns(rows: ColumnBatch) -> Ints:
    """When each delivery was answered to be accepted or rejected; MOST: it was not."""
    done = _finishing(rows) & (rows["answered_ns"] != NULL) & (rows["failed"] == 0)
    return np.where(done, rows["answered_ns"], MOST)


def _again(rows: ColumnBatch, records: _Records) -> ColumnBatch:
    finished = _finished_ns(rows)
    earliest = records.least(finished)
    late = rows["asked_ns"] > earliest[records.of_row] if len(rows) else np.zeros(0, bool)
    times = records.total(late)
    chosen = np.flatnonzero(times)
    by = [_first(finished, records, one, int(earliest[one])) for one in chosen.tolist()]
    to = [int(records.first[one] + np.argmax(late[records.first[one] : records.end[one]])) for one in chosen]
    first, second = np.array(by, np.int64), np.array(to, np.int64)
    return _rows(AGAIN, rows, second, by=first, count=times[chosen])


def _first(values: Ints, records: _Records, one: int, value: int) -> int:
    return int(records.first[one] + np.argmax(values[records.first[one] : records.end[one]] == value))


def _double_lease(history: ShareHistory, records: _Records) -> ColumnBatch:
    """Two members hold a record: the second was given it before the lock of the first can have ended."""
    rows = history.rows
    held_until = rows["asked_ns"] + history.lock_ns
    sent = np.where(rows["acknowledged_ns"] == NULL, MOST, rows["acknowledged_ns"])
    found: dict[int, tuple[int, int]] = {}
    for apart in range(1, int((records.end - records.first).max(initial=0))):
        one, other = np.arange(len(rows) - apart), np.arange(apart, len(rows))
        both = records.of_row[one] == records.of_row[other]
        both &= rows["member"][one] != rows["member"][other]
        until = rows["acquired_ns"][other]
        both &= (until < held_until[one]) & (until < sent[one])
        pairs = np.flatnonzero(both)
        pairs = pairs[~history.doubts.within(rows["asked_ns"][pairs], until[pairs])]
        for row in pairs.tolist():
            found.setdefault(int(records.of_row[row]), (row, row + apart))
    first = np.array([one for one, _ in found.values()], np.int64)
    second = np.array([other for _, other in found.values()], np.int64)
    return _rows(DOUBLE_LEASE, rows, second, by=first, count=np.full(len(first), 2))


def _over_limit(history: ShareHistory, records: _Records) -> ColumnBatch:
    """The broker told a count above the limit, or gave a record more often than that with nothing in between
    after which it counts from 1 again."""
    rows, limit = history.rows, history.info.delivery_limit
    over = rows["count"] > limit
    if len(rows) > limit:
        one, other = np.arange(len(rows) - limit), np.arange(limit, len(rows))
        several = records.of_row[one] == records.of_row[other]
        chosen = np.flatnonzero(several)
        several[chosen] = ~history.doubts.within(rows["asked_ns"][chosen], rows["acquired_ns"][other[chosen]])
        over[other] |= several
    chosen = np.flatnonzero(records.total(over))
    last = records.end[chosen] - 1
    return _rows(
        OVER_LIMIT,
        rows,
        last,
        count=(records.end - records.first)[chosen],
        seen=records.most(rows["count"])[chosen],
    )


def _unseen(history: ShareHistory, records: _Records) -> ColumnBatch:
    """A record is finished that was given, not acknowledged for good, and not given so often that
    it can have reached the limit, unseen deliveries included."""
    rows = history.rows
    last = records.end - 1
    spot, offset = rows["spot"][last], rows["offset"][last]
    start = _looked_up({one: history.finished(one) for one in history.starts.start}, spot)
    at = _looked_up(history.starts.at_ns, spot)
    count = np.maximum(records.most(rows["count"]), records.end - records.first)
    # Each unseen delivery takes a lock, an ending client or a failing broker.
    since = rows["acquired_ns"][last]
    more = 1 + np.maximum(0, at - since) // history.lock_ns + history.doubts.number(since, at)
    chosen = (start != NULL) & (offset < start) & (records.total(_finishing(rows)) == 0)
    # One that was given after the answer was not finished by then.
    chosen &= since <= at
    chosen &= count + more < history.info.delivery_limit
    chosen &= _held(history.there, spot, offset)
    found = np.flatnonzero(chosen)
    return _rows(UNSEEN, rows, last[found], by=last[found], count=count[found], seen=count[found])


def _redelivered(rows: ColumnBatch, records: _Records) -> ColumnBatch:
    times = records.end - records.first
    chosen = np.flatnonzero(times > 1)
    return _rows(
        REDELIVERED,
        rows,
        records.end[chosen] - 1,
        count=times[chosen],
        seen=records.most(rows["count"])[chosen],
    )


def _stuck(history: ShareHistory, records: _Records, spot: int, start: int, there: Ranges) -> ColumnBatch:
    """Records that are not finished, of a partition of which nothing was given for two locks."""
    rows, info = history.rows, history.info
    at, lag = history.starts.at_ns[spot], history.starts.lag[spot]
    quiet = at - 2 * history.lock_ns - round(info.hold_seconds * 1e9)
    here = rows["spot"] == spot
    given = rows["acquired_ns"][here]
    if lag == 0 or not info.closed or int(given.max(initial=NULL)) > quiet:
        return ColumnBatch.empty(SHARED)
    if start == NULL and len(given):  # Another answer is missing: the group did begin.
        return ColumnBatch.empty(SHARED)
    if history.doubts.within(np.array([quiet]), np.array([at]))[0]:
        return ColumnBatch.empty(SHARED)
    # An acknowledgement without an answer may have taken effect.
    times = records.end - records.first
    done = (records.total(_finishing(rows)) > 0) | (times >= info.delivery_limit)
    done |= records.most(rows["count"]) >= info.delivery_limit
    done &= here[records.first] if len(records.first) else done
    left = there.between(start, MOST).without(Ranges.of(rows["offset"][records.first[done]]))
    return _runs(STUCK, spot, left, start)


def _looked_up(values: Mapping[int, int], spot: Ints) -> Ints:
    found = np.full(len(spot), NULL, np.int64)
    for one, value in values.items():
        found[spot == one] = value
    return found


def _held(there: Mapping[int, Ranges], spot: Ints, offset: Ints) -> Flags:
    found = np.zeros(len(spot), bool)
    for one, ranges in there.items():
        mine = spot == one
        found[mine] = ranges.holds(offset[mine])
    return found


def _rows(
    kind: int, rows: ColumnBatch, at: Ints, *, count: Ints, by: Ints | None = None, seen: Ints | None = None
) -> ColumnBatch:
    """Rows of SHARED about the deliveries `at`; `by` are the deliveries of the first member."""
    nothing = np.full(len(at), NULL, np.int64)
    chosen = rows.where(at)
    return ColumnBatch(
        {
            "kind": np.full(len(at), kind, np.int64),
            "member": nothing if by is None else rows["member"][by],
            "other": chosen["member"],
            "spot": chosen["spot"],
            "offset": chosen["offset"],
            "count": np.asarray(count, np.int64),
            "seen": chosen["count"] if seen is None else seen,
            "producer": chosen["producer"],
            "seq": chosen["seq"],
        }
    )


def _runs(kind: int, spot: int, ranges: Ranges, start: int) -> ColumnBatch:
    """Rows of SHARED, one per run of offsets."""
    many = len(ranges.start)
    nothing = np.full(many, NULL, np.int64)
    columns = dict.fromkeys(SHARED, nothing) | {
        "kind": np.full(many, kind, np.int64),
        "spot": np.full(many, spot, np.int64),
        "offset": ranges.start,
        "count": ranges.end - ranges.start + 1,
        "seen": np.full(many, start, np.int64),
    }
    return ColumnBatch(columns)
