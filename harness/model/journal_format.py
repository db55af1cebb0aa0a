"""What a journal is: its files, its rows, and its columns with their meanings."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its meaning, and what null means in it (None: it is never null)."""

    name: str
    type: pa.DataType
    meaning: str
    null: str | None = None


@dataclass(frozen=True, slots=True)
class JournalFormat:
    """One journal: its files in the run folder, what a row is, and its columns."""

    path: str
    rows: str
    columns: tuple[Column, ...]
    schema: pa.Schema


JOURNALS: list[JournalFormat] = []
"""The journals that the loaded modules define; docs/reference/journals.md lists all journals."""


def define_journal(path: str, rows: str, *columns: Column) -> pa.Schema:
    """Define a journal and return its schema. The files contain the schema without the descriptions."""
    schema = pa.schema(
        [pa.field(column.name, column.type, nullable=column.null is not None) for column in columns]
    )
    JOURNALS.append(JournalFormat(path, rows, columns, schema))
    return schema


NS_MEANING = "ns since the epoch, by the clock of the machine that wrote the journal"
READER_MEANING = "name of the reader; of live readers one of `readers` in run.json"
TOPIC_PARTITION = (Column("topic", pa.string(), "topic"), Column("partition", pa.int32(), "partition"))
ASKED_AND_ANSWERED = (
    Column("asked_ns", pa.int64(), f"when the question was sent, {NS_MEANING}"),
    Column("at_ns", pa.int64(), "when the answer came, ns as above"),
)


def identity_columns(of: str, null: str) -> tuple[Column, ...]:
    """The columns of a record's identity (ARCHITECTURE.md), as read from `of`, a value or an output; `null`
    says when there is no identity."""
    return (
        Column("run", pa.int64(), f"the run that the {of} names", null),
        Column("producer", pa.int32(), f"the producer that the {of} names", null),
        Column("seq", pa.int64(), f"the number that the {of} names", null),
    )
