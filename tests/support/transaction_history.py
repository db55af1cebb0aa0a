"""Transactions that poll, told in a few numbers: as a run folder, as edges, and judged in plain Python.

A story is a tuple of transactions, whose numbers are their places in it. Offsets follow from the order of
`log`: the transactions that wrote the records of each partition, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from checkers.transactions.cycles import TXN_BITS
from harness.model.run import ReaderInfo, RunMeta
from tests.support.history import TOPIC, History, Row, ns, run_meta

PARTITIONS = 3
Edge = tuple[int, int]
Pair = dict[str, set[Edge]]


class Txn(NamedTuple):
    """When a transaction began and ended (seconds; None: not known), how, and the records that it polled, as
    (partition, offset)."""

    begun: float = 1
    ended: float | None = 20
    polled: tuple[Edge, ...] = ()
    outcome: str = "committed"


class Story(NamedTuple):
    txns: tuple[Txn, ...]
    log: tuple[tuple[int, ...], ...]

    def history(self, *, first: int = 0, partition: int = 0, later: float = 0.0) -> History:
        """Each transaction is of a producer of its own, from the number `first` on, whose reader is named
        after it."""
        history = History(producer=first, partition=partition)
        sent = [0] * len(self.txns)
        identity = {}
        for number, writers in enumerate(self.log):
            for offset, writer in enumerate(writers):
                seq = identity[number, offset] = sent[writer]
                sent[writer] += 1
                where = {"at": offset, "producer": writer, "partition": number}
                history.send(seq, txn=0, **where).read(seq, **where)
                if self.txns[writer].outcome != "aborted":
                    history.read_committed(seq, **where)
        for number, txn in enumerate(self.txns):
            for where, offset in txn.polled:
                history.give(
                    identity[where, offset],
                    at=offset,
                    producer=self.log[where][offset],
                    partition=where,
                    reader=f"polls-{first + number}",
                )
            ended = None if txn.ended is None else txn.ended + later
            history.txn(
                0,
                txn.outcome,
                producer=number,
                begun=txn.begun + later,
                ended=ended,
                polled=(0, len(txn.polled)),
            )
        return history

    def readers(self, *, first: int = 0) -> Iterator[ReaderInfo]:
        for number in range(first, first + len(self.txns)):
            yield ReaderInfo(name=f"polls-{number}", producer=number, committed=True)

    def edges(self) -> Pair:
        """The edges of each kind between transactions that were not aborted, pair by pair."""
        kept = [[(at, one) for at, one in enumerate(part) if self._counts(one)] for part in self.log]
        found: Pair = {"ww": set(), "wr": set(), "rw": set(), "realtime": set()}
        for part in kept:
            found["ww"] |= {(a, b) for (_, a), (_, b) in pairwise(part)}
        for reader, txn in enumerate(self.txns):
            if not self._counts(reader):
                continue
            found["wr"] |= {(self.log[part][at], reader) for part, at in txn.polled}
            for part in {part for part, _ in txn.polled}:
                last = max(at for where, at in txn.polled if where == part)
                after = [one for at, one in kept[part] if at > last]
                if after and self._counts(self.log[part][last]):
                    found["rw"].add((reader, after[0]))
        for a, first in enumerate(self.txns):
            known = first.ended is not None and first.outcome == "committed"
            for b, then in enumerate(self.txns):
                if known and first.ended < then.begun and self._counts(b):  # type: ignore[operator]
                    found["realtime"].add((a, b))
        return {
            kind: {(a, b) for a, b in pairs if a != b and self._counts(a)} for kind, pairs in found.items()
        }

    def table(self) -> pa.Table:
        """The edges as `checkers.transactions.find.edges_of` has them."""
        rows = [
            {
                "kind": kind,
                "source": a << TXN_BITS,
                "target": b << TXN_BITS,
                "topic_partition": 0,
                "offset": a,
            }
            for kind, pairs in self.edges().items()
            if kind != "realtime"
            for a, b in pairs
        ]
        rows += [
            {
                "kind": "txn",
                "source": number << TXN_BITS,
                "offset": ns(txn.begun),
                "next_offset": ns(txn.ended) if txn.outcome == "committed" else None,
            }
            for number, txn in enumerate(self.txns)
            if txn.outcome != "aborted"
        ]
        numbers = ("source", "target", "topic_partition", "offset", "next_offset")
        schema = pa.schema({"kind": pa.string(), **dict.fromkeys(numbers, pa.int64())})
        return pa.Table.from_pylist(rows, schema=schema)

    def cycles(self) -> set[tuple[str, frozenset[int], int]]:
        """(class, transactions of the component, length of its shortest cycle), by trying all paths."""
        edges = self.edges()
        nodes = range(len(self.txns))
        found = set()
        for finding, needs, also, once in (
            ("circular_information_flow", "wr", ("realtime",), False),
            ("write_cycle", "ww", ("wr",), False),
            ("fractured_read", "rw", ("ww", "wr"), True),
        ):
            rest = set().union(*(edges[kind] for kind in also))
            every = rest | edges[needs]
            ways = rest if once else every
            for component in {frozenset(n for n in nodes if _mutual(every, node, n)) for node in nodes}:
                lengths = [
                    1 + back
                    for a, b in edges[needs]
                    if {a, b} <= component and (back := _steps(ways, b, a)) is not None
                ]
                if lengths:
                    found.add((finding, component, min(lengths)))
        return found

    def _counts(self, number: int) -> bool:
        return self.txns[number].outcome != "aborted"


def _steps(edges: set[Edge], start: int, goal: int) -> int | None:
    """The number of edges from start to goal; None: there is no way."""
    reached, steps = {start}, 0
    while goal not in reached:
        wider = reached | {b for a, b in edges if a in reached}
        if wider == reached:
            return None
        reached, steps = wider, steps + 1
    return steps


def _mutual(edges: set[Edge], a: int, b: int) -> bool:
    return _steps(edges, a, b) is not None and _steps(edges, b, a) is not None


@st.composite
def stories(draw: st.DrawFn, most: int = 6) -> Story:
    """Up to `most` transactions, which wrote and polled anything."""
    count = draw(st.integers(1, most))
    writers = st.lists(st.integers(0, count - 1), max_size=6).map(tuple)
    log = tuple(draw(writers) for _ in range(PARTITIONS))
    records = [(part, at) for part, of_part in enumerate(log) for at in range(len(of_part))]
    polls = st.lists(st.sampled_from(records), max_size=4, unique=True).map(tuple) if records else st.just(())
    times = st.integers(0, 12)

    def txn() -> Txn:
        begun = draw(times)
        ended = draw(st.none() | times.map(lambda span: begun + span))
        outcome = draw(st.sampled_from(["committed"] * 4 + ["indeterminate", "aborted"]))
        return Txn(begun, ended, draw(polls), outcome)

    return Story(tuple(txn() for _ in range(count)), log)


def names(cycle: Sequence[str]) -> list[int]:
    """The transactions of a finding's `cycle`, as numbers of a story whose first producer is 0."""
    return [int(step.split("/")[0]) for step in cycle]


__all__ = ["PARTITIONS", "TOPIC", "Story", "Txn", "names", "stories"]


CLASSES = ("circular_information_flow", "write_cycle", "fractured_read")


def of_transactions(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["finding"] in CLASSES]


def meta_of(*readers: ReaderInfo, **changes: object) -> RunMeta:
    return run_meta(partitions=PARTITIONS, transactional=True, idempotent=True, readers=readers, **changes)
