"""The records of one block: which of them are plain, and the facts of the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

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
from checkers.facts.places import Places, ranked

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


@dataclass(frozen=True)
class BlockFacts:
    """What the journals tell of the records of one block.

    `sends` has `SEND_COLUMNS`, `txns` `TXN_COLUMNS`, the reads `READ_COLUMNS`: `final` is the final read,
    `committed` the second one, of committed records only (None: there was none), `live` what live readers
    were given, `source` being the reader's number; `committed_readers` are those that read committed records
    only.
    """

    run: int
    sends: ColumnBatch
    final: ColumnBatch
    committed: ColumnBatch | None
    live: ColumnBatch
    txns: ColumnBatch
    committed_readers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Edge:
    """First offsets of one producer's records of a block in one spot: the least and the greatest."""

    producer: int
    spot: int
    least: int
    most: int


@dataclass
class Sorted:
    """Rows of records that are not plain; `sends` also has `journaled` (rows of it) and `txn_outcome`.
    Records are numbered 0 to `records` - 1; each `*_of` array says which record a row is of. `late` tells by
    record whether one with a higher seq lies at a lower offset."""

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


def sort_out(told: BlockFacts, later: dict[tuple[int, int], int]) -> Sorted:
    """Leave out what is plain.

    Args:
        later: by producer and spot the least first offset of records with seqs beyond this block.
    """
    final, live = told.final, told.live
    committed = told.committed if told.committed is not None else ColumnBatch.empty(READ_COLUMNS)
    places = Places(told.sends["producer"], told.sends["seq"])
    n = places.size
    sends, place, journaled = _once(told.sends, places)
    send_of = np.full(n, -1, np.int64)
    send_of[place] = np.arange(len(place))
    odd: Flags = np.zeros(n, bool)
    odd[place[journaled > 1]] = True

    at = {}
    for name, rows in (("final", final), ("committed", committed), ("live", live)):
        spot_of = places.of(rows["producer"], rows["seq"])
        ours = rows["run"] == told.run
        if not ours.all():
            spot_of[~ours] = -1
        if n:
            unsent = (spot_of >= 0) & (send_of[spot_of] < 0)
            if unsent.any():
                spot_of[unsent] = -1
        at[name] = spot_of

    # Of the final read: as sent, where it was acknowledged, once.
    here, rows = _known(at["final"], final)
    sent = send_of[here]
    home = rows["spot"] == sends["spot"][sent]
    acked_at = sends["offset"][sent]
    odd[here[~(home & _same(rows, sends, sent) & ((rows["offset"] == acked_at) | (acked_at == NULL)))]] = True
    copies = np.bincount(here, minlength=n)
    first = np.full(n, MOST, np.int64)
    if n and copies.max() > 1:
        np.minimum.at(first, here[home], rows["offset"][home])
    else:
        first[here[home]] = rows["offset"][home]
    seen, outcome = copies[place], sends["outcome"]
    settled = (seen == 1) & ((outcome == ACKED) | (outcome == OTHER))
    nowhere = (seen == 0) & ((outcome == INDETERMINATE) | (outcome == REJECTED) | (outcome == OTHER))
    odd[place[~(settled | nowhere)]] = True

    # Whoever else read it saw the same.
    given_committed = np.zeros(n, bool)
    for name, rows in (("committed", committed), ("live", live)):
        here, rows = _known(at[name], rows)
        sent = send_of[here]
        same = (rows["spot"] == sends["spot"][sent]) & (rows["offset"] == first[here])
        odd[here[~(same & _same(rows, sends, sent))]] = True
        if name == "committed":
            given_committed[here] = True
            in_committed = given_committed.copy()
        elif told.committed_readers:
            given_committed[here[np.isin(rows["source"], list(told.committed_readers))]] = True

    txn_outcome = _txn_outcomes(told.txns, sends)
    if len(told.txns):
        odd[place[(txn_outcome == ABORTED) & given_committed[place]]] = True
        if told.committed is not None:
            missing = (txn_outcome == COMMITTED) & (outcome == ACKED) & (seen > 0) & ~in_committed[place]
            odd[place[missing]] = True

    late, edges = _order(places, first, sends["spot"], send_of, later)
    odd |= late
    reads = {"final": final, "committed": committed, "live": live}
    sent_rows = ColumnBatch(sends.columns | {"journaled": journaled, "txn_outcome": txn_outcome})
    return _rest(odd, place, sent_rows, late, reads, at, edges)


def _known(place: Ints, rows: ColumnBatch) -> tuple[Ints, ColumnBatch]:
    """Rows of records that this run sent, and their places."""
    known = place >= 0
    return (place, rows) if known.all() else (place[known], rows.where(known))


def _same(rows: ColumnBatch, sends: ColumnBatch, sent: Ints) -> Flags:
    return np.asarray(rows["key"] == sends["key"][sent])


def _once(sends: ColumnBatch, places: Places) -> tuple[ColumnBatch, Ints, Ints]:
    """One row a send, its place, and how many the journal holds of it (of several: the greatest of each
    column, so that their order does not matter)."""
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


def _txn_outcomes(txns: ColumnBatch, sends: ColumnBatch) -> Ints:
    """By send, how its transaction ended; NULL: it was sent in none, or nothing is known of its end."""
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


def _order(
    places: Places, first: Ints, spot: Ints, send_of: Ints, later: dict[tuple[int, int], int]
) -> tuple[Flags, list[Edge]]:
    """Which records are late: a record of the same producer and spot with a higher seq has a lower offset."""
    late: Flags = np.zeros(places.size, bool)
    present = np.flatnonzero(first != MOST)
    if not len(present):
        return late, []
    many, spot_rank = ranked(spot[send_of[present]])
    group = places.group(present) * len(many) + spot_rank
    groups = len(places.producers()) * len(many)
    # Sorting small numbers stably is a radix sort: a fraction of a general sort's time.
    order = np.argsort(group.astype(np.uint16) if groups <= 65_536 else group, kind="stable")
    group, present = group[order], present[order]
    offset = first[present]
    starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    least, most = np.minimum.reduceat(offset, starts), np.maximum.reduceat(offset, starts)
    names = [
        (int(places.producers()[number // len(many)]), int(many[number % len(many)]))
        for number in group[starts].tolist()
    ]
    falls = np.flatnonzero((offset[1:] < offset[:-1]) & (group[1:] == group[:-1]))
    troubled = set(np.unique(np.searchsorted(starts, falls, "right") - 1).tolist())
    beyond = [later.get(name, MOST) for name in names]
    troubled |= {index for index, bound in enumerate(beyond) if bound < most[index]}
    for index in troubled:
        end = int(starts[index + 1]) if index + 1 < len(starts) else len(group)
        rows = slice(int(starts[index]), end)
        after = np.concatenate([offset[rows], [beyond[index]]])
        lowest_after = np.minimum.accumulate(after[::-1])[::-1][1:]
        late[present[rows][offset[rows] > lowest_after]] = True
    edges = [
        Edge(*name, low, high) for name, low, high in zip(names, least.tolist(), most.tolist(), strict=True)
    ]
    return late, edges


def _rest(
    odd: Flags,
    place: Ints,
    sends: ColumnBatch,
    late: Flags,
    reads: dict[str, ColumnBatch],
    at: dict[str, Ints],
    edges: list[Edge],
) -> Sorted:
    """Rows of records that are not plain, and of those that were never sent, with their records' numbers."""
    number = np.cumsum(odd) - 1
    records = sent = int(odd.sum())
    chosen = np.flatnonzero(odd[place]) if records else np.empty(0, np.int64)
    picked: dict[str, tuple[ColumnBatch, Ints]] = {}
    strays = {}
    for name, rows in reads.items():
        here = at[name]
        stray = here < 0
        strays[name] = rows.where(np.flatnonzero(stray))
        mask = np.flatnonzero(~stray & odd[here]) if records else np.empty(0, np.int64)
        picked[name] = rows.where(mask), number[here[mask]]
    if any(len(rows) for rows in strays.values()):
        number_of, extra = _identities(ColumnBatch.joined(list(strays.values()), READ_COLUMNS))
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
    flags[:sent] = late[odd]
    return Sorted(
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


def _identities(rows: ColumnBatch) -> tuple[Ints, int]:
    """The rows' records numbered from 0, and how many there are."""
    run, producer, seq = rows["run"], rows["producer"], rows["seq"]
    order = np.lexsort((seq, producer, run))
    changes = np.zeros(len(order), bool)
    for column in (run, producer, seq):
        changes[1:] |= column[order][1:] != column[order][:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(changes)
    return number, int(changes.sum()) + 1
