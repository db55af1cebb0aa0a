"""The rules about one partition of a share group (KIP-932), each of which gives columns of `ANOMALIES`.

Only what no order of events at the broker explains is an anomaly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.groups.anomalies import MOST, NULL, Ints, integers
from checkers.share.deliveries import ShareGroup, SharePartition

_UNSEEN_LIMIT = 2
"""Members that were killed or cut off before they could tell may use up a delivery limit up to this one."""


def share_rules(rows: pa.Table, groups: Mapping[str, ShareGroup]) -> list[pa.Table]:
    """All anomalies of a partition.

    Args:
        groups: the share groups by group.id.
    """
    share = SharePartition(rows, groups[rows["group"][0].as_py()])
    return [
        _after_acknowledgement(share),
        _double_lease(share),
        _over_limit(share),
        _of_records("share_redelivered", share, np.flatnonzero(share.times > 1)),
        _archived_unseen(share),
        _consecutive("share_lost", share, _never_delivered(share)),
        _consecutive("share_stuck", share, _not_finished(share)),
    ]


def _after_acknowledgement(share: SharePartition) -> pa.Table:
    """Deliveries of records that were finished before they were asked for."""
    earliest = np.minimum.reduceat(share.finished_ns, share.first)[share.record]
    _, finished, _ = share.first_of_each_record(share.finished_ns == earliest)
    records, late, times = share.first_of_each_record(share.asked_ns > earliest)
    return _of_two_members("share_again", share, finished[records], late, times)


def _double_lease(share: SharePartition) -> pa.Table:
    """Two members hold a record: the second was given it before the lock of the first can have ended."""
    acknowledged = integers(share.rows["acknowledged_ns"])
    held_until = share.asked_ns + share.group.lock_ns
    held_until = np.minimum(held_until, np.where(acknowledged == NULL, MOST, acknowledged))
    pairs = [np.empty((2, 0), np.int64)]
    for apart in range(1, int(share.times.max(initial=0))):
        first = share.delivered_again(apart)
        second = first + apart
        both = (share.number[first] != share.number[second]) & (share.acquired_ns[second] < held_until[first])
        pairs.append(np.stack([first[both], second[both]]))
    first, second = np.concatenate(pairs, axis=1)
    _, chosen = np.unique(share.record[first], return_index=True)
    return _of_two_members(
        "share_double_lease", share, first[chosen], second[chosen], np.full(len(chosen), 2)
    )


def _over_limit(share: SharePartition) -> pa.Table:
    """The broker told a count above the limit, or gave a record more often than that with nothing in between
    after which it counts from 1 again."""
    limit = share.group.info.delivery_limit
    over = share.delivery_count > limit
    over[share.delivered_again(limit) + limit] = True
    return _of_records("share_over_limit", share, np.unique(share.record[over]))


def _archived_unseen(share: SharePartition) -> pa.Table:
    """A record is finished that was given, not acknowledged for good, and not given so often that it can have
    reached the limit, unseen deliveries included."""
    offset, since = share.offset[share.last], share.acquired_ns[share.last]
    at = np.full(len(since), share.start["at_ns"] if share.start else 0)
    count = np.maximum(share.most, share.times)
    # Each unseen delivery takes a lock, an ending client or a failing broker.
    more = 1 + np.maximum(0, at - since) // share.group.lock_ns + share.group.disruptions.number(since, at)
    chosen = (offset < share.finished_below) & ~share.acknowledged & np.isin(offset, share.log)
    # One that was given after the answer was not finished by then.
    chosen &= (since <= at) & (count + more < share.group.info.delivery_limit)
    last = share.last[chosen]
    return _of_two_members("share_archived_unseen", share, last, last, count[chosen])


def _never_delivered(share: SharePartition) -> Ints:
    """The offsets of records that are finished, and that no member was given."""
    if share.group.info.delivery_limit <= _UNSEEN_LIMIT:
        return share.log[:0]
    finished = share.log[share.log < share.finished_below]
    return finished[~np.isin(finished, share.offset)]


def _not_finished(share: SharePartition) -> Ints:
    """The offsets of records that are not finished, of a partition of which nothing was given for two
    locks."""
    start, begins, group, nothing = share.start, share.begins, share.group, share.log[:0]
    if start is None or start["lag"] == 0 or not group.info.closed:
        return nothing
    if begins is None and len(share):  # Another answer is missing: the group did begin.
        return nothing
    quiet = start["at_ns"] - 2 * group.lock_ns - round(group.info.hold_seconds * 1e9)
    if share.acquired_ns.max(initial=NULL) > quiet or group.disruptions.within(quiet, start["at_ns"]):
        return nothing
    # An acknowledgement without an answer may have taken effect.
    done = share.acknowledged | (np.maximum(share.times, share.most) >= group.info.delivery_limit)
    after = share.log[share.log >= (begins or 0)]
    return after[~np.isin(after, share.offset[share.first[done]])]


def _of_two_members(kind: str, share: SharePartition, first: Ints, second: Ints, count: Ints) -> pa.Table:
    """Anomalies about the deliveries `second`, after those to the members of `first`."""
    names = share.rows["known_member"]
    return _anomalies(kind, share, second, member=names.take(first), other=names.take(second), count=count)


def _of_records(kind: str, share: SharePartition, records: Ints) -> pa.Table:
    """Anomalies about all deliveries of these records."""
    most = share.most[records]
    seen = pa.array(most, mask=most == NULL)
    return _anomalies(kind, share, share.last[records], count=share.times[records], seen=seen)


def _anomalies(kind: str, share: SharePartition, at: Ints, **columns: Any) -> pa.Table:
    record = {name: share.rows[name].take(at) for name in ("offset", "producer", "seq")}
    return pa.table({"kind": pa.repeat(kind, len(at)), **record, **columns})


def _consecutive(kind: str, share: SharePartition, offsets: Ints) -> pa.Table:
    """Anomalies, one per run of consecutive offsets of these, which ascend."""
    begins = np.flatnonzero(np.diff(offsets, prepend=-2) != 1)
    count = np.diff(begins, append=len(offsets))
    seen = pa.array([share.begins] * len(begins), pa.int64())
    kinds = pa.repeat(kind, len(begins))
    return pa.table({"kind": kinds, "offset": offsets[begins], "count": count, "seen": seen})
