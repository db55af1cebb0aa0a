"""What the journals hold of one partition of a share group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.groups.anomalies import NULL, Flags, Ints, integers, offsets_of, rows_of_journal
from checkers.int64 import INT64_MAX
from checkers.share.disruptions import Disruptions
from harness.model.run import ShareInfo

_FINAL = pa.array(["accept", "reject"])
"""Acknowledgements after which a record is not delivered again."""


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
            key=lambda one: (one["start_offset"] is not None, one["at_ns"]),
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
        one = np.arange(max(0, len(self) - distance))
        one = one[self.record[one] == self.record[one + distance]]
        disrupted = self.group.disruptions.overlap(self.asked_ns[one], self.acquired_ns[one + distance])
        return np.asarray(one[~disrupted])

    def first_of_each_record(self, flags: Flags) -> tuple[Ints, Ints, Ints]:
        """Of the records of which any delivery is flagged: their indexes, the first such delivery of each,
        and the number of such deliveries."""
        rows = np.flatnonzero(flags)
        records, at, times = np.unique(self.record[rows], return_index=True, return_counts=True)
        return records, rows[at], times
