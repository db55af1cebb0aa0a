"""Reads the row groups of journals of a task as columns of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.facts.block import READ_COLUMNS, SEND_COLUMNS, TXN_COLUMNS
from checkers.facts.columns import (
    INDETERMINATE,
    NULL,
    OTHER,
    OUTCOMES,
    READABLE,
    TXN_OUTCOMES,
    ColumnBatch,
    Flags,
    Ints,
    Words,
    codes,
    flags,
    integers,
    spots,
    words,
)
from checkers.facts.decoded import DecodedGroups
from checkers.facts.outputs import OUTPUT_COLUMNS
from checkers.journals.footers import RowGroup
from harness.model.journal import ReadState
from harness.model.storage import open_parquet

_TEXTS = {"topic", "outcome", "error", "state"}
_OF_SENDS = [
    *("producer", "seq", "topic", "partition", "key", "step", "sent_ns", "outcome", "closed_ns"),
    *("offset", "error", "txn"),
]
_OF_READS = ["topic", "partition", "offset", "leader_epoch", "state", "run", "producer", "seq", "key"]
_OF_REPLICAS = ["broker", "state", "run", "producer", "seq"]
_OF_OUTPUTS = [
    *("topic", "partition", "offset", "timestamp_ms", "state", "run", "producer", "seq", "committed"),
]
_OF_INDEX = ["topic", "partition", "offset", "leader_epoch", "state"]

REPLICA_COLUMNS = ("run", "producer", "seq", "broker")

Wanted = Callable[[Ints, Ints], Flags]
"""Selects rows by producer and seq."""


def tables(
    groups: Iterable[RowGroup], columns: list[str], decoded: DecodedGroups | None = None
) -> Iterable[tuple[RowGroup, Any]]:
    """Each row group with its table; a file is opened once for all its consecutive row groups.

    Args:
        decoded: keeps tables for other blocks, which must ask for the same columns.
    """
    for path, of_file in groupby(groups, attrgetter("path")):
        with ExitStack() as stack:
            file = _FileWhenNeeded(path, columns, stack)
            for group in of_file:
                decode = partial(file.decode, group.number)
                yield group, decode() if decoded is None else decoded.table(group, decode)


@dataclass
class _FileWhenNeeded:
    """A journal file that is opened, and its footer read, for the first row group that is decoded."""

    path: str
    columns: list[str]
    stack: ExitStack
    file: Any = None

    def decode(self, number: int) -> Any:
        if self.file is None:
            texts = [name for name in self.columns if name in _TEXTS]
            file = open_parquet(self.path, read_dictionary=texts, memory_map=True)
            self.file = self.stack.enter_context(file)
        return self.file.read_row_group(number, columns=self.columns, use_threads=False)


@dataclass
class SendWords:
    """Different words in a sends journal: names of errors, and outcomes as they are written there."""

    errors: Words = field(default_factory=Words)
    outcomes: Words = field(default_factory=Words)


def sends_of(table: Any, topics: Mapping[str, int], sent_words: SendWords) -> ColumnBatch:
    """Rows of the sends journal as `SEND_COLUMNS`, and `word`, the outcome as it is written there."""
    columns = {
        name: integers(table.column(name))
        for name in ("producer", "seq", "key", "step", "sent_ns", "closed_ns", "offset", "txn")
    }
    columns["spot"] = spots(table.column("topic"), table.column("partition"), topics)
    columns["word"] = sent_words.outcomes.code(table.column("outcome"))
    known = [_OUTCOME_CODES.get(word, OTHER) for word in sent_words.outcomes.names]
    columns["outcome"] = np.array([*known, OTHER], np.int64)[columns["word"]]
    columns["error"] = sent_words.errors.code(table.column("error"))
    return ColumnBatch({name: columns[name] for name in (*SEND_COLUMNS, "word")})


_OUTCOME_CODES = {word: code for code, word in enumerate(OUTCOMES)}
_TXN_CODES = {word: code for code, word in enumerate(TXN_OUTCOMES)}


def reads_of(table: Any, topics: Mapping[str, int], source: int) -> tuple[ColumnBatch, Flags | None]:
    """Rows of a journal of reads as `READ_COLUMNS`, and which have an identity that can be trusted (None:
    all)."""
    columns = {
        **{name: integers(table.column(name)) for name in ("run", "producer", "seq")},
        "spot": spots(table.column("topic"), table.column("partition"), topics),
        "offset": integers(table.column("offset")),
        "key": integers(table.column("key")),
        "epoch": integers(table.column("leader_epoch")),
        "source": np.full(table.num_rows, source, np.int64),
    }
    return ColumnBatch({name: columns[name] for name in READ_COLUMNS}), readable(table)


def readable(table: Any) -> Flags | None:
    """Which rows have an identity that can be trusted; None: all."""
    indices, found = words(table.column("state"))
    good = np.array([word in READABLE for word in found] + [False], bool)
    return None if good[:-1].all() and not (indices < 0).any() else np.asarray(good[indices])


def read_sends(
    groups: Sequence[RowGroup],
    opened: Sequence[RowGroup],
    topics: Mapping[str, int],
    sent_words: SendWords,
    wanted: Wanted,
    decoded: DecodedGroups | None = None,
) -> ColumnBatch:
    """Sends of a block, in the order of producers and sequence numbers if each row group is. A send that a
    crash left open is indeterminate unless the journal also has its report."""
    parts: list[ColumnBatch] = []
    for listed, left_open in ((groups, False), (opened, True)):
        for _, table in tables(listed, _OF_SENDS, decoded):
            chosen = wanted(integers(table.column("producer")), integers(table.column("seq")))
            rows = sends_of(table if chosen.all() else _cut(table, chosen), topics, sent_words)
            if left_open:
                rows = _still_open(rows, ColumnBatch.joined(parts, (*SEND_COLUMNS, "word")), sent_words)
            parts.append(rows)
    parts = sorted((part for part in parts if len(part)), key=_first_identity)
    return ColumnBatch.joined(parts, (*SEND_COLUMNS, "word"), given_up=True)


def _first_identity(rows: ColumnBatch) -> tuple[int, int]:
    return int(rows["producer"][0]), int(rows["seq"][0])


def _still_open(rows: ColumnBatch, closed: ColumnBatch, sent_words: SendWords) -> ColumnBatch:
    (word,) = sent_words.outcomes.code(pa.array([OUTCOMES[INDETERMINATE]])).tolist()
    pairs = set(zip(closed["producer"].tolist(), closed["seq"].tolist(), strict=True))
    here = zip(rows["producer"].tolist(), rows["seq"].tolist(), strict=True)
    rows = rows.where(np.array([pair not in pairs for pair in here], bool))
    fate = {"outcome": np.full(len(rows), INDETERMINATE), "word": np.full(len(rows), word)}
    return ColumnBatch(rows.columns | fate)


OnTable = Callable[[RowGroup, Any], None]
"""Gets the table of each row group of reads."""


def read_reads(
    groups: Sequence[RowGroup],
    topics: Mapping[str, int],
    wanted: Wanted,
    decoded: DecodedGroups | None = None,
    on_table: OnTable | None = None,
) -> ColumnBatch:
    """Reads of a block whose identity can be trusted; `source` is the reader's number (-1: the final
    read)."""
    parts = []
    for group, table in tables(groups, _OF_READS, decoded):
        inside = wanted(integers(table.column("producer")), integers(table.column("seq")))
        if on_table is not None:
            on_table(group, table)
        rows, good = reads_of(table if inside.all() else _cut(table, inside), topics, group.reader)
        parts.append(rows if good is None else rows.where(good))
    return ColumnBatch.joined(parts, READ_COLUMNS, given_up=True)


def _cut(table: Any, chosen: Flags) -> Any:
    """The chosen rows of a table; a view if they are neighbours, as at the border of two bands."""
    count = int(np.count_nonzero(chosen))
    first = int(chosen.argmax())
    neighbours = count and chosen[first : first + count].all()
    return table.slice(first, count) if neighbours or not count else table.filter(pa.array(chosen))


def read_identities(groups: Sequence[RowGroup], topics: Mapping[str, int]) -> Iterable[ColumnBatch]:
    """`spot`, `offset`, `producer` and `seq` of records whose identity can be trusted, by row group."""
    for _, table in tables(groups, ["topic", "partition", "offset", "state", "producer", "seq"]):
        columns = {name: integers(table.column(name)) for name in ("offset", "producer", "seq")}
        columns["spot"] = spots(table.column("topic"), table.column("partition"), topics)
        chosen = readable(table)
        yield ColumnBatch(columns) if chosen is None else ColumnBatch(columns).where(np.flatnonzero(chosen))


def read_keys(groups: Sequence[RowGroup], topics: Mapping[str, int]) -> Iterable[ColumnBatch]:
    """`spot`, `offset` and `key` of records that have a key, by row group."""
    for _, table in tables(groups, ["topic", "partition", "offset", "key"]):
        columns = {name: integers(table.column(name)) for name in ("offset", "key")}
        columns["spot"] = spots(table.column("topic"), table.column("partition"), topics)
        yield ColumnBatch(columns).where(np.flatnonzero(columns["key"] != NULL))


def read_replicas(groups: Sequence[RowGroup], wanted: Wanted) -> ColumnBatch:
    """Rows of replicas' own files whose identity can be trusted, as `REPLICA_COLUMNS`."""
    parts = []
    for _, table in tables(groups, _OF_REPLICAS):
        columns = {name: integers(table.column(name)) for name in REPLICA_COLUMNS}
        chosen = wanted(columns["producer"], columns["seq"]) & (codes(table.column("state"), _STATE_OK) == 0)
        parts.append(ColumnBatch(columns).where(np.flatnonzero(chosen)))
    return ColumnBatch.joined(parts, REPLICA_COLUMNS)


_STATE_OK = {ReadState.OK.value: 0}


def read_outputs(
    groups: Sequence[RowGroup], topics: Mapping[str, int], wanted: Wanted, *, committed_only: bool
) -> ColumnBatch:
    """Outputs of a block whose identity can be trusted, as `OUTPUT_COLUMNS`."""
    parts = []
    for _, table in tables(groups, _OF_OUTPUTS):
        rows, good = outputs_of(table, topics, committed_only=committed_only)
        chosen = good & (codes(table.column("state"), _STATE_OK) == 0)
        chosen &= wanted(rows["producer"], rows["seq"])
        parts.append(rows if chosen.all() else rows.where(chosen))
    return ColumnBatch.joined(parts, OUTPUT_COLUMNS)


def outputs_of(table: Any, topics: Mapping[str, int], *, committed_only: bool) -> tuple[ColumnBatch, Flags]:
    """Rows of the outputs journal as `OUTPUT_COLUMNS`, and which of them count: with `committed_only`, those
    that readers of committed records get."""
    stamp = integers(table.column("timestamp_ms"))
    columns = {
        **{name: integers(table.column(name)) for name in ("run", "producer", "seq", "offset")},
        "spot": spots(table.column("topic"), table.column("partition"), topics),
        # The end of the millisecond, so that an output is not before the send that made it.
        "moment": np.where(stamp == NULL, NULL, np.where(stamp == NULL, 0, stamp) * _MS + _MS - 1),
    }
    good = flags(table.column("committed")) if committed_only else np.ones(table.num_rows, bool)
    return ColumnBatch({name: columns[name] for name in OUTPUT_COLUMNS}), good


_MS = 1_000_000


def read_txns(paths: Sequence[str]) -> ColumnBatch:
    """The journal of transactions as `TXN_COLUMNS`."""
    parts = []
    for path in paths:
        with open_parquet(path) as file:
            parts.append(txns_of(file.read(columns=["producer", "txn", "outcome"], use_threads=False)))
    return ColumnBatch.joined(parts, TXN_COLUMNS)


def txns_of(table: Any) -> ColumnBatch:
    outcome = codes(table.column("outcome"), _TXN_CODES)
    return ColumnBatch(
        {
            "producer": integers(table.column("producer")),
            "txn": integers(table.column("txn")),
            "outcome": outcome,
        }
    )


def index_columns(table: Any, topics: Mapping[str, int]) -> tuple[Ints, Ints, Flags, Ints]:
    """Spot, offset, whether the identity can be trusted, and leader epoch of each row."""
    good = readable(table)
    return (
        spots(table.column("topic"), table.column("partition"), topics),
        integers(table.column("offset")),
        np.ones(table.num_rows, bool) if good is None else good,
        integers(table.column("leader_epoch")),
    )


def read_index(
    groups: Sequence[RowGroup], topics: Mapping[str, int]
) -> Iterable[tuple[Ints, Ints, Flags, Ints]]:
    for _, table in tables(groups, _OF_INDEX):
        yield index_columns(table, topics)
