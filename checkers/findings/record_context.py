"""Facts of records with the context that checks need: retention, compaction, other records of a
transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.checks.base import absent, acked, present, txn_outcome
from checkers.facts.columns import NULL, ColumnBatch, Flags, Ints
from checkers.facts.places import Places
from checkers.facts.record import RecordFacts
from harness.model.journal import TxnOutcome


@dataclass(frozen=True)
class LogBounds:
    """What the final read says of one partition (`spot`): who led it, where its log begins and ends."""

    spot: int
    leader: int
    log_start_offset: int
    end_offset: int


@dataclass(frozen=True)
class Policy:
    """What may have deleted a record. `newest_deletable_ns`: retention may have deleted what was sent up to
    then (None: nothing). `compacts`: the topic keeps only the newest record of each key. `transactional`:
    there was a final read of committed records. By steps of the experiment, records below offset
    `deleted_before` were deleted, and the topic was created again at `recreated_ns` (None: they were not)."""

    newest_deletable_ns: int | None
    compacts: bool
    transactional: bool
    deleted_before: int | None = None
    recreated_ns: int | None = None


def with_context(facts: RecordFacts, bounds: Sequence[LogBounds], policy: Policy) -> RecordFacts:
    """The facts with these columns added.

    `log_start_offset`, `end_offset`: of the partition sent to; null: not known. `known`: the acknowledged
    offset, else the lowest at which a live reader got it. `may_expire` (flag): retention, or a step that
    deletes, explains that it is absent. `deleted`, `recreated` (flags): by a step that deletes records, or
    the topic. `not_committed` (flag): acknowledged in a committed transaction and in the log, but not in the
    final read of committed records. `compaction_asked` (flag): compaction explains that it is absent, if its
    key has a higher offset.
    """
    start, end = np.full(len(facts), NULL, np.int64), np.full(len(facts), NULL, np.int64)
    spots = np.array([bound.spot for bound in bounds], np.int64)
    order = np.argsort(spots)
    if len(spots):
        at = np.minimum(np.searchsorted(spots[order], facts["spot"]), len(spots) - 1)
        same = spots[order][at] == facts["spot"]
        for column, name in ((start, "log_start_offset"), (end, "end_offset")):
            values = np.array([getattr(bound, name) for bound in bounds], np.int64)[order]
            column[same] = values[at[same]]
    known = np.where(acked(facts), facts["acked_offset"], facts["live_offset"])
    nothing = np.zeros(len(facts), bool)
    may_expire, not_committed, asked = nothing, nothing, nothing
    if policy.newest_deletable_ns is not None:
        old = (facts["sent_ns"] != NULL) & (facts["sent_ns"] <= policy.newest_deletable_ns)
        may_expire = (known != NULL) & (start != NULL) & (known < start) & old
    deleted, recreated = nothing, nothing
    if policy.deleted_before is not None:
        deleted = (known != NULL) & (start != NULL) & (known < start) & (known < policy.deleted_before)
    if policy.recreated_ns is not None:
        recreated = (known != NULL) & (facts["sent_ns"] != NULL) & (facts["sent_ns"] <= policy.recreated_ns)
    if policy.transactional:
        ended_well = acked(facts) & txn_outcome(facts, TxnOutcome.COMMITTED)
        not_committed = ended_well & present(facts) & (facts["committed_rows"] == 0)
    if policy.compacts:
        asked = absent(facts) & (facts["key"] != NULL) & (known != NULL) & (facts["spot"] != NULL)
    return facts.plus(
        log_start_offset=start,
        end_offset=end,
        known=known,
        may_expire=may_expire | deleted | recreated,
        deleted=deleted,
        recreated=recreated,
        not_committed=not_committed,
        compaction_asked=asked,
    )


def wanted_keys(facts: RecordFacts) -> ColumnBatch:
    """The `spot` and `key` for which the highest offset in the final read is asked, each pair once."""
    rows = np.flatnonzero(facts["compaction_asked"])
    pairs = np.unique(np.stack([facts["spot"][rows], facts["key"][rows]]), axis=1)
    return ColumnBatch({"spot": pairs[0], "key": pairs[1]})


def with_newer(facts: RecordFacts, newest: ColumnBatch) -> RecordFacts:
    """The facts with `newer_offset`, the highest offset of its key where it was asked for, and `may_compact`
    (flag): compaction explains that it is absent.

    Args:
        newest: columns `spot`, `key`, `offset`; a pair may occur several times.
    """
    highest = np.full(len(facts), NULL, np.int64)
    asked = np.flatnonzero(facts["compaction_asked"])
    if len(asked) and len(newest):
        places = Places(newest["spot"], newest["key"])
        offsets = np.full(places.size, NULL, np.int64)
        np.maximum.at(offsets, places.of(newest["spot"], newest["key"]), newest["offset"])
        at = places.of(facts["spot"][asked], facts["key"][asked])
        highest[asked] = np.where(at >= 0, offsets[at], NULL)
    return facts.plus(newer_offset=highest, may_compact=(highest != NULL) & (highest > facts["known"]))


def with_torn(facts: RecordFacts, given: Iterable[ColumnBatch]) -> RecordFacts:
    """The facts with `torn` (flag): not committed, but another record of its transaction is in the final read
    of committed records.

    Args:
        given: transactions (`producer`, `txn`) with a record in that read; looked at one after the other as
            long as records remain whose transaction is in none.
    """
    torn: Flags = np.zeros(len(facts), bool)
    left = np.flatnonzero(facts["not_committed"])
    for txns in given if len(left) else ():
        if len(txns):
            there = _in(txns, facts["producer"][left], facts["txn"][left])
            torn[left[there]] = True
            left = left[~there]
        if not len(left):
            break
    return facts.plus(torn=torn)


def _in(txns: ColumnBatch, producer: Ints, txn: Ints) -> Flags:
    places = Places(txns["producer"], txns["txn"])
    there: Flags = np.zeros(places.size, bool)
    there[places.of(txns["producer"], txns["txn"])] = True
    at = places.of(producer, txn)
    return np.asarray((at >= 0) & there[at])
