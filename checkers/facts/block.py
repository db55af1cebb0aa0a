"""Which records of one block are clean, and the journal rows of those that are not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from checkers.facts.columns import (
    ABORTED,
    ACKED,
    COMMITTED,
    INDETERMINATE,
    MOST,
    NULL,
    OTHER,
    REJECTED,
    ColumnBatch,
    Flags,
    Ints,
)
from checkers.facts.lateness import Edge, late_records
from checkers.facts.places import Places

SEND_COLUMNS = (
    "producer",
    "seq",
    "spot",
    "key",
    "step",
    "outcome",
    "sent_ns",
    "closed_ns",
    "offset",
    "error",
    "txn",
)
READ_COLUMNS = ("run", "producer", "seq", "spot", "offset", "key", "epoch", "source")
TXN_COLUMNS = ("producer", "txn", "outcome")
GIVEN_COLUMNS = ("producer", "txn")


@dataclass(frozen=True)
class BlockFacts:
    """The journal rows of the records of one block.

    `sends` has `SEND_COLUMNS`, `txns` has `TXN_COLUMNS`, the reads have `READ_COLUMNS`: `final` is the final
    read, `committed` the second one, of committed records only (None: there was none), `live` the deliveries
    to live readers, `source` being the reader's number. `committed_readers` are the numbers of live readers
    of committed records only.
    """

    run: int
    sends: ColumnBatch
    final: ColumnBatch
    committed: ColumnBatch | None
    live: ColumnBatch
    txns: ColumnBatch
    committed_readers: frozenset[int] = frozenset()


@dataclass
class AnomalousRecords:
    """Journal rows of records that are not clean.

    Records are numbered 0 to `records` - 1; each `*_of` array has the record's number for each row. `sends`
    also has `journaled` (the number of rows that the journal has of the send) and `txn_outcome`. `late` says
    for each record whether one with a higher seq lies at a lower offset.
    """

    records: int
    sends: ColumnBatch
    sends_of: Ints
    final: ColumnBatch
    final_of: Ints
    committed: ColumnBatch
    committed_of: Ints
    live: ColumnBatch
    live_of: Ints
    late: Flags
    edges: list[Edge] = field(default_factory=list)
    given: ColumnBatch = field(default_factory=lambda: ColumnBatch.empty(GIVEN_COLUMNS))


def select_anomalous(block: BlockFacts, later: dict[tuple[int, int], int]) -> AnomalousRecords:
    """The rows of all records of a block but the clean ones.

    Args:
        later: the least first offset of records with seqs beyond this block, by producer and spot.
    """
    final, live = block.final, block.live
    committed = block.committed if block.committed is not None else ColumnBatch.empty(READ_COLUMNS)
    places = Places(block.sends["producer"], block.sends["seq"])
    n = places.size
    sends, place, journaled = deduplicated(block.sends, places)
    # Nearly always the sends are in the order of their places, and no place is empty.
    dense = len(place) == n and bool((place == np.arange(n)).all())
    send_of = np.full(n, -1, np.int64)
    send_of[place] = np.arange(len(place))
    anomalous: Flags = np.zeros(n, bool)
    anomalous[place[journaled > 1]] = True

    def by_send(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values if dense else values[place]

    at = {}
    for name, rows in (("final", final), ("committed", committed), ("live", live)):
        spot_of = places.of(rows["producer"], rows["seq"])
        ours = rows["run"] == block.run
        if not ours.all():
            spot_of[~ours] = -1
        if n and not dense:
            unsent = (spot_of >= 0) & (send_of[spot_of] < 0)
            if unsent.any():
                spot_of[unsent] = -1
        at[name] = spot_of

    # The final read has it as it was sent, where it was acknowledged, once.
    here, rows = _sent_by_this_run(at["final"], final)
    sent = here if dense else send_of[here]
    home = rows["spot"] == sends["spot"][sent]
    acked_at = sends["offset"][sent]
    right = rows["offset"] == acked_at
    if not right.all():
        right |= acked_at == NULL
    right &= home
    right &= _same_key(rows, sends, sent)
    anomalous[here[~right]] = True
    copies = np.bincount(here, minlength=n)
    first = np.full(n, MOST, np.int64)
    # Nearly always all are at home, and a mask would copy them.
    at_home = slice(None) if home.all() else home
    if n and copies.max() > 1:
        np.minimum.at(first, here[at_home], rows["offset"][at_home])
    else:
        first[here[at_home]] = rows["offset"][at_home]
    seen, outcome = by_send(copies), sends["outcome"]
    once = (seen == 1) & (outcome == ACKED)
    if not once.all():
        once |= (seen == 1) & (outcome == OTHER)
        once |= (seen == 0) & ((outcome == INDETERMINATE) | (outcome == REJECTED) | (outcome == OTHER))
        anomalous[place[~once]] = True

    # Every other reader got the same.
    given_committed = np.zeros(n, bool)
    for name, rows in (("committed", committed), ("live", live)):
        here, rows = _sent_by_this_run(at[name], rows)
        sent = here if dense else send_of[here]
        same = (rows["spot"] == sends["spot"][sent]) & (rows["offset"] == first[here])
        anomalous[here[~(same & _same_key(rows, sends, sent))]] = True
        if name == "committed":
            given_committed[here] = True
            in_committed = given_committed.copy()
        elif block.committed_readers:
            given_committed[here[np.isin(rows["source"], list(block.committed_readers))]] = True

    txn_outcome = txn_outcomes(block.txns, sends)
    given = ColumnBatch.empty(GIVEN_COLUMNS)
    if block.committed is not None:
        given = _distinct_txns(sends.where(np.flatnonzero(by_send(in_committed) & (sends["txn"] != NULL))))
    if len(block.txns):
        anomalous[place[(txn_outcome == ABORTED) & by_send(given_committed)]] = True
        if block.committed is not None:
            missing = (txn_outcome == COMMITTED) & (outcome == ACKED) & (seen > 0) & ~by_send(in_committed)
            anomalous[place[missing]] = True

    late, edges = late_records(places, first, sends["spot"] if dense else sends["spot"][send_of], later)
    anomalous |= late
    reads = {"final": final, "committed": committed, "live": live}
    sent_rows = ColumnBatch(sends.columns | {"journaled": journaled, "txn_outcome": txn_outcome})
    found = _rows_of_anomalous(anomalous, place, sent_rows, late, reads, at, edges)
    return replace(found, given=given)


def _distinct_txns(sends: ColumnBatch) -> ColumnBatch:
    """The transactions of these sends, each once."""
    producer, txn = sends["producer"], sends["txn"]
    # Records of a transaction are neighbours, nearly always.
    new = np.ones(len(sends), bool)
    new[1:] = (producer[1:] != producer[:-1]) | (txn[1:] != txn[:-1])
    producer, txn = producer[new], txn[new]
    order = np.lexsort((txn, producer))
    producer, txn = producer[order], txn[order]
    new = np.ones(len(order), bool)
    new[1:] = (producer[1:] != producer[:-1]) | (txn[1:] != txn[:-1])
    return ColumnBatch({"producer": producer[new], "txn": txn[new]})


def _sent_by_this_run(place: Ints, rows: ColumnBatch) -> tuple[Ints, ColumnBatch]:
    """Rows of records that this run sent, and the places of those records."""
    known = place >= 0
    return (place, rows) if known.all() else (place[known], rows.where(known))


def _same_key(rows: ColumnBatch, sends: ColumnBatch, sent: Ints) -> Flags:
    return np.asarray(rows["key"] == sends["key"][sent])


def deduplicated(sends: ColumnBatch, places: Places) -> tuple[ColumnBatch, Ints, Ints]:
    """One row per send, its place, and the number of rows that the journal has of it.

    Of several rows, the greatest value of each column counts, so that their order does not matter.
    """
    place = places.of(sends["producer"], sends["seq"])
    seen = np.zeros(places.size, bool)
    seen[place] = True
    if np.count_nonzero(seen) == len(place):
        return sends, place, np.ones(len(place), np.int64)
    once = np.flatnonzero(seen)
    columns = {}
    for name, column in sends.columns.items():
        greatest = np.full(places.size, NULL, np.int64)
        np.maximum.at(greatest, place, column)
        columns[name] = greatest[once]
    return ColumnBatch(columns), once, np.bincount(place, minlength=places.size)[once]


def txn_outcomes(txns: ColumnBatch, sends: ColumnBatch) -> Ints:
    """How the transaction of each send ended; NULL: it was sent in none, or its end is not known."""
    found = np.full(len(sends), NULL, np.int64)
    if not len(txns) or not len(sends):
        return found
    places = Places(txns["producer"], txns["txn"])
    ends = np.full(places.size, NULL, np.int64)
    np.maximum.at(ends, places.of(txns["producer"], txns["txn"]), txns["outcome"])
    place = places.of(sends["producer"], sends["txn"])
    inside = (place >= 0) & (sends["txn"] != NULL)
    found[inside] = ends[place[inside]]
    return found


def _rows_of_anomalous(
    anomalous: Flags,
    place: Ints,
    sends: ColumnBatch,
    late: Flags,
    reads: dict[str, ColumnBatch],
    at: dict[str, Ints],
    edges: list[Edge],
) -> AnomalousRecords:
    """Rows of anomalous records and of those that were never sent, with the numbers of their records."""
    number = np.cumsum(anomalous) - 1
    records = sent = int(anomalous.sum())
    chosen = np.flatnonzero(anomalous[place]) if records else np.empty(0, np.int64)
    picked: dict[str, tuple[ColumnBatch, Ints]] = {}
    strays = {}
    for name, rows in reads.items():
        here = at[name]
        stray = here < 0
        strays[name] = rows.where(np.flatnonzero(stray))
        mask = np.flatnonzero(~stray & anomalous[here]) if records else np.empty(0, np.int64)
        picked[name] = rows.where(mask), number[here[mask]]
    if any(len(rows) for rows in strays.values()):
        number_of, extra = _number_identities(ColumnBatch.joined(list(strays.values()), READ_COLUMNS))
        begin = 0
        for name, rows in strays.items():
            known, known_of = picked[name]
            stray_of = number_of[begin : begin + len(rows)] + records
            begin += len(rows)
            picked[name] = (
                ColumnBatch.joined([known, rows], READ_COLUMNS),
                np.concatenate([known_of, stray_of]),
            )
        records += extra
    flags = np.zeros(records, bool)
    flags[:sent] = late[anomalous]
    return AnomalousRecords(
        records=records,
        sends=sends.where(chosen),
        sends_of=number[place[chosen]],
        final=picked["final"][0],
        final_of=picked["final"][1],
        committed=picked["committed"][0],
        committed_of=picked["committed"][1],
        live=picked["live"][0],
        live_of=picked["live"][1],
        late=flags,
        edges=edges,
    )


def _number_identities(rows: ColumnBatch) -> tuple[Ints, int]:
    """The number of each row's record, from 0, and how many records there are."""
    run, producer, seq = rows["run"], rows["producer"], rows["seq"]
    order = np.lexsort((seq, producer, run))
    changes = np.zeros(len(order), bool)
    for column in (run, producer, seq):
        changes[1:] |= column[order][1:] != column[order][:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(changes)
    return number, int(changes.sum()) + 1
