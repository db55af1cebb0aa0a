"""The rules about one partition of a share group (KIP-932), each of which gives columns of `ANOMALIES`.

Only what no order of events at the broker explains is an anomaly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.groups.anomalies import MOST, NULL, Ints, integers
from checkers.share.deliveries import PartitionDeliveries, ShareGroup

_UNSEEN_LIMIT = 2
"""Members that were killed or cut off before they could tell may use up a delivery limit up to this one."""


def share_rules(rows: pa.Table, groups: Mapping[str, ShareGroup]) -> list[pa.Table]:
    """All anomalies of a partition.

    Args:
        groups: the share groups by group.id.
    """
    here = PartitionDeliveries(rows, groups[rows["group"][0].as_py()])
    return [
        _again(here),
        _double_lease(here),
        _over_limit(here),
        _all_deliveries("share_redelivered", here, np.flatnonzero(here.times > 1)),
        _unseen(here),
        _runs("share_lost", here, _never_given(here)),
        _runs("share_stuck", here, _left(here)),
    ]


def _again(here: PartitionDeliveries) -> pa.Table:
    """Deliveries of records that were finished before they were asked for."""
    earliest = np.minimum.reduceat(here.finished_ns, here.first)[here.record]
    _, finished, _ = here.first_of(here.finished_ns == earliest)
    records, late, times = here.first_of(here.asked_ns > earliest)
    return _by_two("share_again", here, finished[records], late, times)


def _double_lease(here: PartitionDeliveries) -> pa.Table:
    """Two members hold a record: the second was given it before the lock of the first can have ended."""
    acknowledged = integers(here.rows["acknowledged_ns"])
    held_until = here.asked_ns + here.group.lock_ns
    held_until = np.minimum(held_until, np.where(acknowledged == NULL, MOST, acknowledged))
    pairs = [np.empty((2, 0), np.int64)]
    for apart in range(1, int(here.times.max(initial=0))):
        first = here.given_apart(apart)
        second = first + apart
        both = (here.number[first] != here.number[second]) & (here.acquired_ns[second] < held_until[first])
        pairs.append(np.stack([first[both], second[both]]))
    first, second = np.concatenate(pairs, axis=1)
    _, chosen = np.unique(here.record[first], return_index=True)
    return _by_two("share_double_lease", here, first[chosen], second[chosen], np.full(len(chosen), 2))


def _over_limit(here: PartitionDeliveries) -> pa.Table:
    """The broker told a count above the limit, or gave a record more often than that with nothing in between
    after which it counts from 1 again."""
    limit = here.group.info.delivery_limit
    over = here.delivery_count > limit
    over[here.given_apart(limit) + limit] = True
    return _all_deliveries("share_over_limit", here, np.unique(here.record[over]))


def _unseen(here: PartitionDeliveries) -> pa.Table:
    """A record is finished that was given, not acknowledged for good, and not given so often that it can have
    reached the limit, unseen deliveries included."""
    offset, since = here.offset[here.last], here.acquired_ns[here.last]
    at = np.full(len(since), here.start["at_ns"] if here.start else 0)
    count = np.maximum(here.most, here.times)
    # Each unseen delivery takes a lock, an ending client or a failing broker.
    more = 1 + np.maximum(0, at - since) // here.group.lock_ns + here.group.doubts.number(since, at)
    chosen = (offset < here.finished_below) & ~here.acknowledged & np.isin(offset, here.log)
    # One that was given after the answer was not finished by then.
    chosen &= (since <= at) & (count + more < here.group.info.delivery_limit)
    last = here.last[chosen]
    return _by_two("share_archived_unseen", here, last, last, count[chosen])


def _never_given(here: PartitionDeliveries) -> Ints:
    """The offsets of records that are finished, and that no member was given."""
    if here.group.info.delivery_limit <= _UNSEEN_LIMIT:
        return here.log[:0]
    finished = here.log[here.log < here.finished_below]
    return finished[~np.isin(finished, here.offset)]


def _left(here: PartitionDeliveries) -> Ints:
    """The offsets of records that are not finished, of a partition of which nothing was given for two
    locks."""
    start, begins, group, nothing = here.start, here.begins, here.group, here.log[:0]
    if start is None or start["lag"] == 0 or not group.info.closed:
        return nothing
    if begins is None and len(here):  # Another answer is missing: the group did begin.
        return nothing
    quiet = start["at_ns"] - 2 * group.lock_ns - round(group.info.hold_seconds * 1e9)
    if here.acquired_ns.max(initial=NULL) > quiet or group.doubts.within(quiet, start["at_ns"]):
        return nothing
    # An acknowledgement without an answer may have taken effect.
    done = here.acknowledged | (np.maximum(here.times, here.most) >= group.info.delivery_limit)
    after = here.log[here.log >= (begins or 0)]
    return after[~np.isin(after, here.offset[here.first[done]])]


def _by_two(kind: str, here: PartitionDeliveries, first: Ints, second: Ints, count: Ints) -> pa.Table:
    """Anomalies about the deliveries `second`, after those to the members of `first`."""
    names = here.rows["known_member"]
    return _anomalies(kind, here, second, member=names.take(first), other=names.take(second), count=count)


def _all_deliveries(kind: str, here: PartitionDeliveries, records: Ints) -> pa.Table:
    """Anomalies about all deliveries of these records."""
    most = here.most[records]
    seen = pa.array(most, mask=most == NULL)
    return _anomalies(kind, here, here.last[records], count=here.times[records], seen=seen)


def _anomalies(kind: str, here: PartitionDeliveries, at: Ints, **columns: Any) -> pa.Table:
    record = {name: here.rows[name].take(at) for name in ("offset", "producer", "seq")}
    return pa.table({"kind": pa.repeat(kind, len(at)), **record, **columns})


def _runs(kind: str, here: PartitionDeliveries, offsets: Ints) -> pa.Table:
    """Anomalies, one per run of consecutive offsets of these, which ascend."""
    begins = np.flatnonzero(np.diff(offsets, prepend=-2) != 1)
    count = np.diff(begins, append=len(offsets))
    seen = pa.array([here.begins] * len(begins), pa.int64())
    kinds = pa.repeat(kind, len(begins))
    return pa.table({"kind": kinds, "offset": offsets[begins], "count": count, "seen": seen})
