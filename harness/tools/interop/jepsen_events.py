"""Converts our journals to the events of a Jepsen history, as rows of integers that can be sorted.

Jepsen needs a unique integer for each record: seq * number of producers + index of the producer. A record
that this run never sent, or that does not decode, gets a negative number that depends on its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.model.journal import SendOutcome, TxnOutcome

INVOKE, COMPLETE, POLL = range(3)
OK, FAIL, INFO = range(3)
NEVER = 2**63 - 1
"""`time` of the completion of an operation that never ended."""
NO_OFFSET = -1
POLLED = 1 << 62
"""From this `position` on an event is about a record that a transaction polled, not one that it sent."""
EVENTS = ("time", "order", "actor", "group", "position", "key", "offset", "value", "type", "error")
"""`time` is in ns, `order` sorts events of the same time, `actor` is an index of `Legend.actors`, `group`
identifies one operation of an actor and `position` the order within it. `type` is `OK`, `FAIL` or `INFO`,
`error` an index of `Legend.errors`."""

TYPES = {
    SendOutcome.ACKED.value: OK,
    SendOutcome.REJECTED.value: FAIL,
    TxnOutcome.COMMITTED.value: OK,
    TxnOutcome.ABORTED.value: FAIL,
}
"""By outcome of a send or a transaction; every other outcome is `INFO`."""

Int64Array = npt.NDArray[np.int64]
TransactionRanges = Mapping[tuple[int, int], tuple[int, int, int]]
"""(producer, txn) -> (begun, ended, type)"""
Poll = tuple[int, int, int, int, int, int, int]
"""What a transaction polled: (producer, position of the first record, count, txn, begun, ended, type)."""


class Names:
    """Numbers things in the order in which they first occur."""

    def __init__(self, *known: Any) -> None:
        self.all: list[Any] = list(known)
        self._numbers = {name: number for number, name in enumerate(known)}

    def number(self, name: Any) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.all)
            self.all.append(name)
        return number

    def numbers(self, names: Iterable[Any]) -> Int64Array:
        return np.array([self.number(name) for name in names], dtype=np.int64)


class Legend:
    """The meaning of the numbers in one history. `keys` are (topic, partition), the run's own partitions
    first."""

    def __init__(self, run_id: int, topic: str, partitions: int, producers: Iterable[int]) -> None:
        self.run_id = run_id
        self.keys = Names(*((topic, number) for number in range(partitions)))
        self.errors = Names("", "unconfirmed")
        self.actors = Names()
        self.producers: Int64Array = np.array(sorted(set(producers)), dtype=np.int64)
        self._fits = (2**63 - 1) // max(1, len(self.producers)) - 1

    def values(
        self, producer: Int64Array, seq: Int64Array, known: npt.NDArray[np.bool_]
    ) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        """The integers of identities, and for which of them they are valid (the others take `odd_value`)."""
        count = len(self.producers)
        if not count:
            return np.zeros(len(seq), dtype=np.int64), np.zeros(len(seq), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self.producers, producer), count - 1)
        fine = known & (self.producers[at] == producer) & (seq >= 0) & (seq < self._fits)
        return np.where(fine, seq * fine * count + at, 0), fine

    def key_numbers(self, topics: pa.ChunkedArray, partitions: Int64Array) -> Int64Array:
        return self.keys.numbers(zip(topics.to_pylist(), partitions.tolist(), strict=True))


def odd_value(*content: Any) -> int:
    """A negative number for a record that this run did not write; equal for equal content."""
    digest = blake2b(repr(content).encode(), digest_size=8).digest()
    return -1 - (int.from_bytes(digest, "big") >> 2)


def _events(count: int, **columns: Int64Array | int) -> pa.Table:
    return pa.table(
        {
            name: pa.array(np.broadcast_to(np.asarray(columns[name], dtype=np.int64), (count,)))
            for name in EVENTS
        }
    )


def _column(table: pa.Table, name: str, null: int) -> Int64Array:
    # A copy, since an array that shares memory with Arrow is read-only.
    return np.array(pc.fill_null(table[name], null).to_numpy(), dtype=np.int64)


def send_events(
    table: pa.Table,
    to: Legend,
    transactions: TransactionRanges,
    found: Mapping[tuple[int, int], tuple[str, int]],
) -> pa.Table:
    """Two events per send: its begin and its end.

    Args:
        table: SENDS rows.
        transactions: of a transactional run, where a send begins and ends with its transaction.
        found: the (topic, partition) where sends of unknown partition were read, by (producer, seq).
    """
    count = table.num_rows
    producer, seq = _column(table, "producer", 0), _column(table, "seq", 0)
    partition, txn = _column(table, "partition", 0), _column(table, "txn", -1)
    topics = table["topic"]
    begun, ended = _column(table, "sent_ns", 0), _column(table, "closed_ns", NEVER)
    outcomes = table["outcome"].to_pylist()
    kinds = np.array([TYPES.get(outcome, INFO) for outcome in outcomes], dtype=np.int64)
    errors = [
        error or ("unconfirmed" if outcome == SendOutcome.UNCONFIRMED else "")
        for error, outcome in zip(table["error"].to_pylist(), outcomes, strict=True)
    ]
    unknown = np.flatnonzero(partition < 0).tolist()
    if unknown:
        names = topics.to_pylist()
        for index in unknown:
            names[index], partition[index] = found.get(
                (int(producer[index]), int(seq[index])), (names[index], 0)
            )
        topics = pa.chunked_array([pa.array(names, pa.string())])
    for index in np.flatnonzero(txn >= 0).tolist():
        of = transactions.get((int(producer[index]), int(txn[index])))
        if of is not None:
            begun[index], ended[index], kinds[index] = of
    value, fine = to.values(producer, seq, np.ones(count, dtype=np.bool_))
    for index in np.flatnonzero(~fine).tolist():
        value[index] = odd_value(to.run_id, int(producer[index]), int(seq[index]))
    own = {
        "actor": to.actors.numbers(
            ("txn" if inside else "send", number)
            for number, inside in zip(producer.tolist(), (txn >= 0).tolist(), strict=True)
        ),
        "group": np.where(txn >= 0, txn, seq),
        "position": seq,
        "key": to.key_numbers(topics, partition),
        "value": value,
        "type": kinds,
        "error": to.errors.numbers(errors),
    }
    offset = _column(table, "offset", NO_OFFSET)
    ended = np.maximum(begun, ended)
    return pa.concat_tables(
        [
            _events(count, time=begun, order=INVOKE, offset=NO_OFFSET, **own),
            _events(count, time=ended, order=COMPLETE, offset=offset, **own),
        ]
    )


def read_events(table: pa.Table, to: Legend) -> pa.Table:
    """One event per record that a reader received. `table` holds READS rows; the actor is (reader,
    session)."""
    count = table.num_rows
    producer, seq = _column(table, "producer", -1), _column(table, "seq", -1)
    ok = np.asarray(pc.equal(table["state"], "ok").to_numpy(zero_copy_only=False), dtype=np.bool_)
    value, fine = to.values(producer, seq, ok)
    for index in np.flatnonzero(~fine).tolist():
        row = table.slice(index, 1).to_pylist()[0]
        whole = row["state"] in ("ok", "foreign")
        value[index] = (
            odd_value(row["run"], row["producer"], row["seq"]) if whole else odd_value(row["value"])
        )
    session, position = _column(table, "session", -1), _column(table, "position", -1)
    offset = _column(table, "offset", NO_OFFSET)
    key = to.key_numbers(table["topic"], _column(table, "partition", 0))
    live = position >= 0
    return _events(
        count,
        time=_column(table, "read_ns", 0),
        order=POLL,
        actor=to.actors.numbers(
            ("read", reader, number)
            for reader, number in zip(table["reader"].to_pylist(), session.tolist(), strict=True)
        ),
        # Records of a live reader in the order in which it received them; those of the final read by
        # partition.
        group=np.where(live, 0, key),
        position=np.where(live, position, offset),
        key=key,
        offset=offset,
        value=value,
        type=OK,
        error=0,
    )


def poll_events(table: pa.Table, to: Legend, polls: Sequence[Poll]) -> pa.Table:
    """Two events, as of a send, per record that a transaction polled. `table` holds READS rows of the reader
    of one producer, and `polls` are that producer's, in the order of their records; the others are left out.
    """
    events = read_events(table, to)
    if not polls:
        return events.slice(0, 0)
    firsts, counts, txns, begun, ended, kinds = np.array(polls, dtype=np.int64)[:, 1:].T
    position = _column(table, "position", -1)
    at = np.searchsorted(firsts, position, "right") - 1
    inside = np.flatnonzero((at >= 0) & (position < firsts[at] + counts[at]))
    events, at = events.take(inside), at[inside]
    own = {name: _column(events, name, 0) for name in ("key", "offset", "value", "error")}
    own |= {"group": txns[at], "position": POLLED + position[inside], "type": kinds[at]}
    actor = to.actors.number(("txn", polls[0][0]))
    times = {INVOKE: begun[at], COMPLETE: np.maximum(begun, ended)[at]}
    return pa.concat_tables(
        _events(len(at), time=time, order=order, actor=actor, **own) for order, time in times.items()
    )
