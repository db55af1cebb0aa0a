"""What the journals hold of one consumer group: commits, answers about them, owners, and given records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.facts.columns import MOST, NULL, OTHER, ColumnBatch, Flags, Ints, codes, integers, spots
from checkers.facts.deliveries import Unit
from harness.model.journal import ADDED_COLUMNS, ASSIGNMENTS, COMMITS, OFFSETS
from harness.model.storage import open_parquet

REQUEST, AUTO, TRANSACTION = range(3)
_KINDS = {"request": REQUEST, "auto": AUTO, "transaction": TRANSACTION}
ANSWERED, ABORTED = NULL, 0
"""Codes of a commit's `error`: none, and a transaction that was aborted; every other is OTHER."""
ASSIGNED, REVOKED, LOST = range(3)
_EVENTS = {"assigned": ASSIGNED, "revoked": REVOKED, "lost": LOST}
FETCH, LOGGED = range(2)
_SOURCES = {"fetch": FETCH, "logged": LOGGED, "logged-transaction": LOGGED}
UNKNOWN_NS = 30_000_000_000
"""A commit of which the time of asking is not known was sent at most so long before its answer was taken:
twice the time after which our readers' clients give up a request, and then some."""

COMMIT_ROWS = ("reader", "spot", "offset", "error", "kind", "asked_ns", "at_ns")
ANSWER_ROWS = ("spot", "offset", "error", "source", "broker", "log_offset", "asked_ns", "at_ns")
OWNER_ROWS = ("reader", "spot", "event", "offset", "at_ns")
GIVEN_ROWS = ("reader", "spot", "offset", "read_ns")


@dataclass(frozen=True)
class GroupFiles:
    """The files of the journals that all groups of a run share, and what the settings say: the session
    time-out of each reader by number, and how long offsets of an empty group are kept, both in ns.
    `made_again` are the stretches, in ns, in which the topic was deleted with its committed offsets."""

    assignments: tuple[str, ...]
    commits: tuple[str, ...]
    offsets: tuple[str, ...]
    session_ns: Mapping[int, int]
    retention_ns: int
    made_again: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class GroupJournals:
    """Rows of one group, or of some of its partitions: `commits`, `answers`, `owners` and `given`, with the
    columns of `COMMIT_ROWS`, `ANSWER_ROWS`, `OWNER_ROWS` and `GIVEN_ROWS`."""

    commits: ColumnBatch
    answers: ColumnBatch
    owners: ColumnBatch
    given: ColumnBatch

    def spots(self) -> list[int]:
        found = np.concatenate([self.commits["spot"], self.answers["spot"], self.owners["spot"]])
        return [int(spot) for spot in np.unique(found)]

    def of(self, spot: int) -> GroupJournals:
        """The rows of one partition."""
        parts = (self.commits, self.answers, self.owners, self.given)
        return GroupJournals(*(one.where(np.flatnonzero(one["spot"] == spot)) for one in parts))


@dataclass(frozen=True)
class GroupTables:
    """The rows of all groups, read once for many of them; what folders of earlier versions lack is null."""

    assignments: pa.Table
    commits: pa.Table
    offsets: pa.Table


def read_tables(files: GroupFiles) -> GroupTables:
    """The journals that all groups of a run share."""
    return GroupTables(
        _table(files.assignments, ASSIGNMENTS), _table(files.commits, COMMITS), _table(files.offsets, OFFSETS)
    )


def read_group(
    unit: Unit, tables: GroupTables, topics: Mapping[str, int], part: int = 0, parts: int = 1
) -> GroupJournals:
    """The rows of a group, in one of several parts of its partitions."""
    readers = {name: number for number, name, _ in unit.readers}
    table = tables.commits
    commits = _rows(table, COMMIT_ROWS, topics)
    commits["reader"] = codes(table.column("reader"), readers)
    commits["error"] = codes(table.column("error"), {"ABORTED": ABORTED})
    commits["kind"] = codes(table.column("kind"), _KINDS)
    table = tables.offsets
    answers = _rows(table, ANSWER_ROWS, topics)
    answers["error"] = codes(table.column("error"), {})
    answers["source"] = codes(table.column("source"), _SOURCES)
    mine = codes(table.column("group"), {unit.name: 0}) == 0
    given = [_given(path, reader, topics, part, parts) for reader, _, paths in unit.readers for path in paths]
    return GroupJournals(
        _chosen(commits, commits["reader"] >= 0, part, parts),
        _chosen(answers, mine & (answers["source"] >= 0), part, parts),
        read_owners(unit, tables.assignments, topics, part, parts),
        ColumnBatch.joined(given, GIVEN_ROWS),
    )


def read_owners(
    unit: Unit, assignments: pa.Table, topics: Mapping[str, int], part: int = 0, parts: int = 1
) -> ColumnBatch:
    """Rows of `OWNER_ROWS` of a group, in one of several parts of its partitions."""
    readers = {name: number for number, name, _ in unit.readers}
    owners = _rows(assignments, OWNER_ROWS, topics)
    owners["reader"] = codes(assignments.column("reader"), readers)
    owners["event"] = codes(assignments.column("event"), _EVENTS)
    return _chosen(owners, (owners["reader"] >= 0) & (owners["event"] >= 0), part, parts)


def lower(commits: ColumnBatch) -> Ints:
    """The earliest time at which each commit can have been applied."""
    asked, at = commits["asked_ns"], commits["at_ns"]
    return np.where(asked == NULL, at - UNKNOWN_NS, asked)


def upper(commits: ColumnBatch) -> Ints:
    """The latest time at which each commit can have been applied: one without an answer, at any time."""
    return np.where(commits["error"] == ANSWERED, commits["at_ns"], MOST)


def _table(paths: Sequence[str], schema: pa.Schema) -> pa.Table:
    """The columns of a journal; those that were added later are null if it lacks them."""
    tables = [schema.empty_table()]
    for path in paths:
        with open_parquet(path) as file:
            there = set(file.schema_arrow.names)
            table = file.read(columns=[name for name in schema.names if name in there])
        for name in sorted(ADDED_COLUMNS & set(schema.names) - there):
            table = table.append_column(name, pa.nulls(table.num_rows, schema.field(name).type))
        tables.append(table.select(schema.names).cast(schema))
    return pa.concat_tables(tables).combine_chunks()


def _rows(table: pa.Table, names: Sequence[str], topics: Mapping[str, int]) -> dict[str, Ints]:
    """The columns of numbers; those of words are filled in by the caller."""
    rows = {
        name: integers(table.column(name))
        for name in names
        if name in table.column_names and pa.types.is_integer(table.schema.field(name).type)
    }
    rows["spot"] = spots(table.column("topic"), table.column("partition"), topics)
    return rows


def _chosen(rows: dict[str, Ints], keep: Flags, part: int, parts: int) -> ColumnBatch:
    here = keep & (rows["spot"] >= 0) & (rows["spot"] % parts == part)
    return ColumnBatch(rows).where(np.flatnonzero(here))


def _given(path: str, reader: int, topics: Mapping[str, int], part: int, parts: int) -> ColumnBatch:
    with open_parquet(path, read_dictionary=["topic"], memory_map=True) as file:
        table = file.read(columns=["topic", "partition", "offset", "read_ns"], use_threads=False)
    rows = {name: integers(table.column(name)) for name in ("offset", "read_ns")}
    rows["spot"] = spots(table.column("topic"), table.column("partition"), topics)
    rows["reader"] = np.full(table.num_rows, reader, np.int64)
    return _chosen(rows, rows["spot"] != OTHER, part, parts)
