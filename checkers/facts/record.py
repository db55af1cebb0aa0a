"""Facts about records that are not clean, one row per record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.facts.block import SEND_COLUMNS, AnomalousRecords
from checkers.facts.columns import ACKED, MOST, NULL, ColumnBatch, Flags, Ints, integers, partitions
from checkers.facts.offsets import OffsetIndex

MOST_OFFSETS = 5
_LAST = 2**32
"""Added to the number of a reader of all records, so that readers of committed records come first."""

FACTS = (
    *("run", "producer", "seq", "send_rows", "spot", "key", "step", "outcome", "sent_ns", "closed_ns"),
    *("acked_offset", "error", "txn", "txn_outcome", "read_rows", "copies", "epochs", "first_offset"),
    *(
        "committed_rows",
        "live_rows",
        "live_committed",
        "live_reader",
        "live_offset",
        "seen_spot",
        "away_spot",
    ),
    *("first_key", "wrong_key", "read_key", "overwritten", "overwritten_badly", "epoch_there"),
    *("other_at_live", "late"),
)
"""Facts of a record, one row per record; numbers are 64-bit, a null is `columns.NULL`.

`send_rows`: number of rows in the sends journal (0: never sent; then the columns of the send are null).
`spot` is where it was sent to (`columns.WIDTH`); `outcome` and `txn_outcome` are indices into `OUTCOMES` and
`TXN_OUTCOMES`, `error` is one into the names of errors. Of the final read: `read_rows`, `copies` (number of
different places), `epochs` (number of different leader epochs, at least 1), `first_offset` (the lowest).
`committed_rows`: number of rows in the final read of committed records. Of live readers: `live_rows`,
`live_committed` (number of rows of readers of committed records), `live_reader` (the first one's number,
readers of committed records before others), `live_offset` (the lowest). Of any read: `seen_spot` is the least
spot, `away_spot` one that it was not sent to, `first_key` the least key, `read_key` one that differs from the
key sent (null: none, or no key). These are flags: `wrong_key`, a read had another key than sent;
`overwritten`, another identity is at its acknowledged offset, and it is not; `overwritten_badly`, only a
value that does not decode or whose CRC does not match is there; `other_at_live`, a live reader got it where
the final read holds another identity; `late`, a record of the same producer and spot with a higher seq has a
lower first offset. `epoch_there`: the leader epoch in which the record at its acknowledged offset was
written.
"""


@dataclass(frozen=True)
class RecordFacts:
    """The columns of `FACTS` (and others that were added), and the first few offsets of each record in the
    final read, ascending."""

    columns: Mapping[str, npt.NDArray[Any]]
    offsets: pa.ListArray
    errors: tuple[str, ...]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["run"])

    def where(self, chosen: Ints) -> RecordFacts:
        """The records at these indices."""
        if len(chosen) == len(self) and (chosen == np.arange(len(chosen))).all():
            return self
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return RecordFacts(columns, self.offsets.take(pa.array(chosen)), self.errors)

    def plus(self, **columns: npt.NDArray[Any]) -> RecordFacts:
        """The same records with more columns."""
        return RecordFacts({**self.columns, **columns}, self.offsets, self.errors)


def facts_of(
    rest: AnomalousRecords,
    run: int,
    errors: tuple[str, ...],
    index: OffsetIndex,
    committed_readers: frozenset[int],
) -> RecordFacts:
    """Facts of all records of `rest`, in no order."""
    count = rest.records
    reads = (
        (rest.final, rest.final_of),
        (rest.committed, rest.committed_of),
        (rest.live, rest.live_of),
    )
    if len(rest.sends_of) == count and (rest.sends_of == np.arange(count)).all():
        # All were sent, and are numbered in the order of their sends, as where most of a run is lost.
        send = {name: rest.sends[name] for name in (*SEND_COLUMNS, "journaled", "txn_outcome")}
        identity = {"run": np.full(count, run), "producer": send["producer"], "seq": send["seq"]}
    else:
        send = {name: np.full(count, NULL, np.int64) for name in (*SEND_COLUMNS, "journaled", "txn_outcome")}
        for name, column in send.items():
            column[rest.sends_of] = rest.sends[name]
        identity = {"run": np.full(count, run), "producer": send["producer"], "seq": send["seq"]}
        for rows, of in reads:
            for name, column in identity.items():
                column[of] = rows[name]
    copies, epochs, offsets = _copies(rest.final, rest.final_of, count)
    least, most = _extremes(reads, "spot", send["spot"])
    # Partition -1: the client did not report where it sent to, so any one partition is right.
    wanted = np.where(partitions(send["spot"]) < 0, least, send["spot"])
    away = np.where(least != wanted, least, np.where(most != wanted, most, NULL))
    sent = send["journaled"] != NULL
    first_key, wrong_key, read_key = _keys(reads, send["key"], count)
    at_ack = np.zeros(count, bool)
    there = (rest.final["spot"] == send["spot"][rest.final_of]) & (
        rest.final["offset"] == send["offset"][rest.final_of]
    )
    at_ack[rest.final_of[there]] = True
    elsewhere = np.flatnonzero(~at_ack & (send["outcome"] == ACKED) & (send["offset"] != NULL))
    place = send["spot"][elsewhere], send["offset"][elsewhere]
    by_other, by_bad = index.has(index.readable, *place), index.has(index.bad, *place)
    overwritten, badly = np.zeros(count, bool), np.zeros(count, bool)
    overwritten[elsewhere], badly[elsewhere] = by_other, by_bad & ~by_other
    epoch_there = np.full(count, NULL, np.int64)
    epoch_there[elsewhere] = np.where(by_other | by_bad, index.epoch(*place), NULL)
    of_committed = np.isin(rest.live["source"], list(committed_readers))
    live_reader = _least(rest.live["source"] + np.where(of_committed, 0, _LAST), rest.live_of, count)
    live_offset = _least(rest.live["offset"], rest.live_of, count)
    columns: dict[str, npt.NDArray[Any]] = {
        **identity,
        "send_rows": np.where(sent, send["journaled"], 0),
        **{name: send[name] for name in ("spot", "key", "step", "outcome", "sent_ns", "closed_ns")},
        "acked_offset": send["offset"],
        "txn": send["txn"],
        "txn_outcome": send["txn_outcome"],
        "read_rows": np.bincount(rest.final_of, minlength=count),
        "copies": copies,
        "epochs": epochs,
        "committed_rows": np.bincount(rest.committed_of, minlength=count),
        "live_rows": np.bincount(rest.live_of, minlength=count),
        "live_committed": np.bincount(rest.live_of[of_committed], minlength=count),
        "live_reader": np.where(live_reader == NULL, NULL, live_reader & (_LAST - 1)),
        "live_offset": live_offset,
        "seen_spot": np.where(least == MOST, NULL, least),
        "away_spot": np.where((least == MOST) | ~sent, NULL, away),
        "first_key": first_key,
        "read_key": read_key,
        "epoch_there": epoch_there,
        "error": send["error"],
        "first_offset": _first(offsets),
        "wrong_key": wrong_key & sent,
        "overwritten": overwritten,
        "overwritten_badly": badly,
        "other_at_live": _other_at_live(rest, index, count),
        "late": rest.late,
    }
    return RecordFacts(columns, offsets, errors)


def _least(values: Ints, of: Ints, count: int) -> Ints:
    """The least value of each record; NULL: it has none."""
    if not len(values):
        return np.full(count, NULL)
    least = np.full(count, MOST)
    np.minimum.at(least, of, values)
    return np.where(least == MOST, NULL, least)


def _first(lists: pa.ListArray) -> Ints:
    """The first number of each list; NULL: it is empty."""
    starts = integers(lists.offsets)
    found = np.full(len(lists), NULL, np.int64)
    some = np.flatnonzero(starts[1:] > starts[:-1])
    found[some] = integers(lists.values)[starts[some]]
    return found


def _copies(rows: ColumnBatch, of: Ints, count: int) -> tuple[Ints, Ints, pa.Array]:
    """By record of the final read: number of places, number of leader epochs, the first few offsets."""
    how_many = np.bincount(of, minlength=count)
    if not len(of) or how_many.max() <= 1:
        starts = np.concatenate([[0], np.cumsum(how_many)])
        values = rows["offset"][np.argsort(of, kind="stable")]
        return how_many, how_many.copy(), _lists(starts, values)
    order = np.argsort(of, kind="stable")
    record, offset = of[order], rows["offset"][order]
    if not ((record[1:] != record[:-1]) | (offset[1:] > offset[:-1])).all():
        # Files are in the order of offsets, so this is needed only if a record is in several partitions.
        order = np.lexsort((rows["spot"], rows["offset"], of))
        record, offset = of[order], rows["offset"][order]
    spot = rows["spot"][order]
    new = np.concatenate(
        [[True], (record[1:] != record[:-1]) | (offset[1:] != offset[:-1]) | (spot[1:] != spot[:-1])]
    )
    record, offset = record[new], offset[new]
    copies = np.bincount(record, minlength=count)
    begin = np.concatenate([[0], np.cumsum(copies)])
    shown = np.arange(len(record)) - begin[record] < MOST_OFFSETS
    starts = np.concatenate([[0], np.cumsum(np.minimum(copies, MOST_OFFSETS))])
    several = np.flatnonzero((how_many[of] > 1) & (rows["epoch"] != NULL))
    record, epoch = of[several], rows["epoch"][several]
    order = np.lexsort((epoch, record))
    record, epoch = record[order], epoch[order]
    new = np.ones(len(record), bool)
    new[1:] = (record[1:] != record[:-1]) | (epoch[1:] != epoch[:-1])
    epochs = np.maximum(np.bincount(record[new], minlength=count), np.minimum(how_many, 1))
    return copies, epochs, _lists(starts, offset[shown])


def _lists(starts: Ints, values: Ints) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pa.array(values))


def _extremes(reads: tuple[tuple[ColumnBatch, Ints], ...], name: str, sent: Ints) -> tuple[Ints, Ints]:
    """The least and the greatest value of a column over all reads, by record; MOST and NULL without any.

    Args:
        sent: the value that was sent, which nearly all reads have; only the others are compared one by one.
    """
    least, most, as_sent = np.full(len(sent), MOST), np.full(len(sent), NULL), np.zeros(len(sent), bool)
    for rows, of in reads:
        values = rows[name]
        same = values == sent[of]
        as_sent[of if same.all() else of[same]] = True
        other = np.flatnonzero(~same & (values != NULL))
        np.minimum.at(least, of[other], values[other])
        np.maximum.at(most, of[other], values[other])
    as_sent &= sent != NULL
    return np.where(as_sent, np.minimum(least, sent), least), np.where(as_sent, np.maximum(most, sent), most)


def _keys(reads: tuple[tuple[ColumnBatch, Ints], ...], key: Ints, count: int) -> tuple[Ints, Flags, Ints]:
    """By record: the least key that was read, whether one differs from the key sent, and which one."""
    least, most = _extremes(reads, "key", key)
    without = np.zeros(count, bool)
    rows_read = np.zeros(count, np.int64)
    for rows, of in reads:
        without[of[rows["key"] == NULL]] = True
        rows_read += np.bincount(of, minlength=count)
    some = least != MOST
    least, most = np.where(some, least, NULL), np.where(some, most, NULL)
    different = np.where(some & (least != key), least, np.where(some & (most != key), most, NULL))
    wrong = (rows_read > 0) & ((different != NULL) | (without & (key != NULL)))
    return least, wrong, different


def _other_at_live(rest: AnomalousRecords, index: OffsetIndex, count: int) -> Flags:
    """Whether a live reader got the record where the final read holds another identity."""
    found = np.zeros(count, bool)
    if not len(rest.live):
        return found
    spot = np.concatenate([rest.final["spot"], rest.live["spot"]])
    offset = np.concatenate([rest.final["offset"], rest.live["offset"]])
    of = np.concatenate([rest.final_of, rest.live_of])
    live = np.concatenate([np.zeros(len(rest.final), bool), np.ones(len(rest.live), bool)])
    order = np.lexsort((live, offset, spot, of))
    of, spot, offset, live = of[order], spot[order], offset[order], live[order]
    new = np.ones(len(of), bool)
    new[1:] = (of[1:] != of[:-1]) | (spot[1:] != spot[:-1]) | (offset[1:] != offset[:-1])
    # Places that begin with a row of a live reader have none of the final read.
    alone = np.flatnonzero(new & live)
    other = index.has(index.readable, spot[alone], offset[alone])
    found[of[alone[other]]] = True
    return found
