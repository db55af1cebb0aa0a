"""The rules about one partition of a share group (KIP-932), each of which gives columns of `ANOMALIES`.

A delivery is an anomaly only if no order of events at the broker explains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.groups.anomalies import NULL, Ints, integers
from checkers.int64 import INT64_MAX
from checkers.share.deliveries import ShareGroup, SharePartition

_UNRECORDED_LIMIT = 2
"""Up to this delivery limit, members that are killed or cut off may use it up with deliveries that no journal
has."""

_INITIALISE_NS = 35 * 10**9
"""A coordinator that takes over while a group's state is being initialised asks for it again after
group.share.initialize.retry.interval.ms, by default 30 s (Kafka 4.1)."""


def share_rules(rows: pa.Table, groups: Mapping[str, ShareGroup]) -> list[pa.Table]:
    """All anomalies of a partition; `groups` are the share groups by group.id."""
    share = SharePartition(rows, groups[rows["group"][0].as_py()])
    return [
        _after_acknowledgement(share),
        _double_lease(share),
        _over_limit(share),
        _record_anomalies("share_redelivered", share, np.flatnonzero(share.times > 1)),
        _archived_unseen(share),
        _range_anomalies("share_lost", share, _never_delivered(share)),
        _range_anomalies("share_stuck", share, _not_finished(share)),
    ]


def _after_acknowledgement(share: SharePartition) -> pa.Table:
    """Deliveries of records that were finished before they were asked for."""
    earliest = np.minimum.reduceat(share.finished_ns, share.first)[share.record]
    _, finished, _ = share.first_of_each_record(share.finished_ns == earliest)
    records, late, times = share.first_of_each_record(share.asked_ns > earliest)
    return _member_anomalies("share_again", share, finished[records], late, times)


def _double_lease(share: SharePartition) -> pa.Table:
    """Two members hold a record: it was delivered to the second one before the acquisition lock of the first
    can have ended."""
    acknowledged = integers(share.rows["acknowledged_ns"])
    held_until = share.asked_ns + share.group.lock_ns
    held_until = np.minimum(held_until, np.where(acknowledged == NULL, INT64_MAX, acknowledged))
    pairs = [np.empty((2, 0), np.int64)]
    for distance in range(1, int(share.times.max(initial=0))):
        first = share.redelivered(distance)
        second = first + distance
        both = (share.member_index[first] != share.member_index[second]) & (
            share.acquired_ns[second] < held_until[first]
        )
        pairs.append(np.stack([first[both], second[both]]))
    first, second = np.concatenate(pairs, axis=1)
    _, chosen = np.unique(share.record[first], return_index=True)
    return _member_anomalies(
        "share_double_lease", share, first[chosen], second[chosen], np.full(len(chosen), 2)
    )


def _over_limit(share: SharePartition) -> pa.Table:
    """The broker reported a delivery count above the limit, or delivered a record more often than that with
    nothing in between after which it counts from 1 again."""
    limit = share.group.info.delivery_limit
    over = share.delivery_count > limit
    over[share.redelivered(limit) + limit] = True
    return _record_anomalies("share_over_limit", share, np.unique(share.record[over]))


def _archived_unseen(share: SharePartition) -> pa.Table:
    """A record is finished that was delivered, neither accepted nor rejected, and cannot have reached the
    delivery limit, even with deliveries that no journal has."""
    offset, since = share.offset[share.last], share.acquired_ns[share.last]
    at = np.full(len(since), share.answer["at_ns"] if share.answer else 0)
    count = np.maximum(share.max_count, share.times)
    # Each delivery without a row takes a lock time, a member that ends or a broker that fails.
    more = 1 + np.maximum(0, at - since) // share.group.lock_ns + share.group.disruptions.count(since, at)
    chosen = (offset < share.finished_below) & ~share.has_final & np.isin(offset, share.log)
    # A record that was delivered after the answer was not finished by then.
    chosen &= (since <= at) & (count + more < share.group.info.delivery_limit)
    last = share.last[chosen]
    return _member_anomalies("share_archived_unseen", share, last, last, count[chosen])


def _never_delivered(share: SharePartition) -> Ints:
    """The offsets of records that are finished and were delivered to no member."""
    if share.group.info.delivery_limit <= _UNRECORDED_LIMIT:
        return share.log[:0]
    finished = share.log[share.log < share.finished_below]
    return finished[~np.isin(finished, share.offset)]


def _not_finished(share: SharePartition) -> Ints:
    """The offsets of records that are not finished, if nothing of the partition was delivered for two lock
    times, or for `_INITIALISE_NS` if the group has never begun there."""
    answer, start, group, none = share.answer, share.start_offset, share.group, share.log[:0]
    if answer is None or answer["lag"] == 0 or not group.info.closed:
        return none
    if start is None and len(share):  # The group has a start offset, but no answer says which.
        return none
    quiet_ns = 2 * group.lock_ns + round(group.info.hold_seconds * 1e9)
    since = answer["at_ns"] - (max(quiet_ns, _INITIALISE_NS) if start is None else quiet_ns)
    if share.acquired_ns.max(initial=NULL) > since or group.disruptions.overlap(since, answer["at_ns"]):
        return none
    # An acknowledgement without an answer may have taken effect.
    finished = share.has_final | (np.maximum(share.times, share.max_count) >= group.info.delivery_limit)
    after = share.log[share.log >= (start or 0)]
    return after[~np.isin(after, share.offset[share.first[finished]])]


def _member_anomalies(kind: str, share: SharePartition, first: Ints, second: Ints, count: Ints) -> pa.Table:
    """Anomalies about the deliveries `second`, with the members of the deliveries `first` before them."""
    names = share.rows["known_member"]
    return _anomalies(kind, share, second, member=names.take(first), other=names.take(second), count=count)


def _record_anomalies(kind: str, share: SharePartition, records: Ints) -> pa.Table:
    """Anomalies about all deliveries of these records."""
    counts = share.max_count[records]
    reported = pa.array(counts, mask=counts == NULL)
    return _anomalies(kind, share, share.last[records], count=share.times[records], delivery_count=reported)


def _anomalies(kind: str, share: SharePartition, at: Ints, **columns: Any) -> pa.Table:
    record = {name: share.rows[name].take(at) for name in ("offset", "producer", "seq")}
    return pa.table({"kind": pa.repeat(kind, len(at)), **record, **columns})


def _range_anomalies(kind: str, share: SharePartition, offsets: Ints) -> pa.Table:
    """One anomaly per run of consecutive offsets, which ascend."""
    begins = np.flatnonzero(np.diff(offsets, prepend=-2) != 1)
    count = np.diff(begins, append=len(offsets))
    starts = pa.array([share.start_offset] * len(begins), pa.int64())
    kinds = pa.repeat(kind, len(begins))
    return pa.table({"kind": kinds, "offset": offsets[begins], "count": count, "start_offset": starts})
