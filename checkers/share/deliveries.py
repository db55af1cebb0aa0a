"""What the journals hold of one partition of a share group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.groups.anomalies import MOST, NULL, Flags, Ints, integers, of_journal, offsets_of
from checkers.share.disruptions import Disruptions
from harness.model.run import ShareInfo

_FINISHING = pa.array(["accept", "reject"])


@dataclass(frozen=True)
class ShareGroup:
    """A share group, and when something happened to it that explains what would else be an anomaly."""

    info: ShareInfo
    disruptions: Disruptions

    @property
    def lock_ns(self) -> int:
        return round(self.info.lock_seconds * 1e9)


class SharePartition:
    """The deliveries of one partition of a share group by offset and time, as arrays with an element each.

    A record that a client returned was acquired at some time from `asked_ns` to `acquired_ns`; an
    acknowledgement took effect at some time after `acknowledged_ns` or not at all, unless it was answered
    without an error.

    `rows` are those of the journal, with `known_member`, the member's name if it is one of the group's, and
    `number`, its number. `finishing` says whether the record was accepted or rejected, `finished_ns` when the
    answer to that came without an error (`MOST`: it did not), `record` is the number of the record. Of each
    record `first`, `last` and `times` are its first and its last delivery, and how often it was given, `most`
    is the greatest delivery count that the broker told, `acknowledged` whether it was ever accepted or
    rejected. `log` are the offsets that the log holds at the end. `start` is the last answer about where the
    group begins, a row of the journal of share offsets (None: none came).
    """

    def __init__(self, rows: pa.Table, group: ShareGroup) -> None:
        """From rows of several journals, as `checkers.share.find` hands them to the rules."""
        self.group = group
        given = of_journal(rows, "deliveries")
        number = pc.index_in(given["member"], pa.array(group.info.members, pa.string()))
        known = pc.if_else(pc.is_valid(number), given["member"], pa.scalar(None, pa.string()))
        given = given.append_column("known_member", known).append_column("number", pc.fill_null(number, -1))
        order = ("offset", "acquired_ns", "asked_ns", "number", "session")
        self.rows = given.sort_by([(name, "ascending") for name in order])
        self.offset, self.acquired_ns, self.asked_ns, self.number, self.delivery_count = (
            integers(self.rows[name]) for name in (*order[:4], "delivery_count")
        )
        answered = integers(self.rows["answered_ns"])
        self.finishing = integers(pc.is_in(self.rows["acknowledgement"], _FINISHING)) == 1
        done = self.finishing & (answered != NULL) & (integers(pc.is_null(self.rows["error"])) == 1)
        self.finished_ns = np.where(done, answered, MOST)
        _, self.first, self.record, self.times = np.unique(
            self.offset, return_index=True, return_inverse=True, return_counts=True
        )
        self.last = self.first + self.times - 1
        self.most = np.maximum.reduceat(self.delivery_count, self.first)
        self.acknowledged = np.maximum.reduceat(self.finishing, self.first)
        self.log = offsets_of(of_journal(rows, "log"))
        # A group that once began does not cease to.
        self.start = max(
            of_journal(rows, "share_offsets").to_pylist(),
            key=lambda one: (one["start_offset"] is not None, one["at_ns"]),
            default=None,
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def begins(self) -> int | None:
        """The group's start offset, if it is known."""
        return self.start["start_offset"] if self.start else None

    @property
    def finished_below(self) -> int:
        """All records below this offset are finished for the group (0: none is known to be). Its start offset
        lags behind; without a lag, so are all up to the last one that it had been given by then."""
        if self.start is None:
            return 0
        begins = self.begins or 0
        if self.start["lag"] != 0:
            return begins
        given = self.offset[self.acquired_ns <= self.start["at_ns"]]
        return max(begins, int(given.max(initial=-1)) + 1)

    def delivered_again(self, apart: int) -> Ints:
        """The deliveries of records that were given again `apart` deliveries later, with nothing in between
        after which a broker may forget."""
        one = np.arange(max(0, len(self) - apart))
        one = one[self.record[one] == self.record[one + apart]]
        disrupted = self.group.disruptions.within(self.asked_ns[one], self.acquired_ns[one + apart])
        return np.asarray(one[~disrupted])

    def first_of_each_record(self, flags: Flags) -> tuple[Ints, Ints, Ints]:
        """Of the records of which any delivery is flagged: their numbers, the first such delivery of each,
        and how many there are."""
        rows = np.flatnonzero(flags)
        records, at, times = np.unique(self.record[rows], return_index=True, return_counts=True)
        return records, rows[at], times
