"""What the journals hold of one partition of a consumer group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from checkers.groups.anomalies import rows_of_journal
from checkers.int64 import INT64_MAX
from harness.model.journal_reader import JournalRow

LONGEST_COMMIT_NS = 30_000_000_000
"""A commit whose request time is not known was sent at most this long before its answer: more than twice the
request time-out of the readers' clients."""


@dataclass(frozen=True)
class Ownership:
    """A reader owned a partition from `begin` to `end` (`INT64_MAX`: to the end of the journal), in ns, by
    its own journal. `offset` is where it began to read (None: not known); `revoked` says that it ended with a
    revocation, to which the reader agreed, and not with a loss."""

    reader: str
    begin: int
    end: int
    offset: int | None
    revoked: bool


@dataclass(frozen=True)
class PartitionJournals:
    """The rows of one partition of a group, with the columns of their journals, by time.

    `commits` also have `has_assignments`: whether the reader is in the journal of assignments. `answers` are
    rows of the journal of offsets. `polls` has one row for all records that a reader received at one time:
    `reader`, `at_ns`, `first` and `offset` (the least and the greatest offset) and `count`.
    """

    commits: list[JournalRow]
    answers: list[JournalRow]
    ownerships: list[Ownership]
    polls: pa.Table

    @classmethod
    def of_table(cls, rows: pa.Table) -> PartitionJournals:
        """From the rows of several journals, as `checkers.groups.find` passes them to the rules."""
        assignments = rows_of_journal(rows, "assignments").to_pylist()
        return cls(
            _sorted(rows_of_journal(rows, "commits").to_pylist(), "at_ns", "asked_ns", "offset", "reader"),
            _sorted(rows_of_journal(rows, "offsets").to_pylist(), "asked_ns", "at_ns", "offset", "broker"),
            ownerships_of(_sorted(assignments, "at_ns", "session", "event")),
            rows_of_journal(rows, "live").sort_by("at_ns"),
        )

    @cached_property
    def accepted(self) -> list[JournalRow]:
        """The commits that were answered without an error."""
        return [commit for commit in self.commits if commit["error"] is None]

    @cached_property
    def may_be_applied(self) -> dict[int, list[JournalRow]]:
        """By offset, the commits that may have been applied: all but those of aborted transactions."""
        by_offset = defaultdict(list)
        for commit in self.commits:
            if commit["kind"] != "transaction" or commit["error"] != "ABORTED":
                by_offset[commit["offset"]].append(commit)
        return by_offset

    @cached_property
    def fetched(self) -> list[JournalRow]:
        """The answers of coordinators without an error."""
        return [answer for answer in self.answers if answer["source"] == "fetch" and answer["error"] is None]

    @cached_property
    def log_offsets(self) -> dict[int | None, dict[int, list[int]]]:
        """By committed offset and broker: where the broker's file of `__consumer_offsets` has the commit."""
        by_offset: dict[int | None, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for answer in self.answers:
            if answer["source"] in ("logged", "logged-transaction"):
                by_offset[answer["offset"]][answer["broker"]].append(answer["log_offset"])
        return by_offset


def ownerships_of(assignments: Iterable[JournalRow]) -> list[Ownership]:
    """The ownerships of one partition, from its rows of the journal of assignments by time.

    A partition that is assigned to its owner again, as after a seek, begins a new ownership: it is not known
    whether the reader owned the partition all the time between.
    """
    open_rows: dict[str, JournalRow] = {}
    ownerships = []
    for row in assignments:
        if begun := open_rows.pop(row["reader"], None):
            revoked = row["event"] == "revoked"
            ownerships.append(
                Ownership(row["reader"], begun["at_ns"], row["at_ns"], begun["offset"], revoked)
            )
        if row["event"] == "assigned":
            open_rows[row["reader"]] = row
    ownerships += [
        Ownership(reader, row["at_ns"], INT64_MAX, row["offset"], revoked=False)
        for reader, row in open_rows.items()
    ]
    return sorted(ownerships, key=lambda ownership: (ownership.begin, ownership.reader))


def earliest_ns(commit: JournalRow) -> int:
    """The earliest time at which a commit can have been applied."""
    return int(commit["at_ns"] - LONGEST_COMMIT_NS if commit["asked_ns"] is None else commit["asked_ns"])


def latest_ns(commit: JournalRow) -> int:
    """The latest time at which a commit can have been applied; without an answer, it may still be applied."""
    return int(commit["at_ns"]) if commit["error"] is None else INT64_MAX


def _sorted(rows: Iterable[JournalRow], *names: str) -> list[JournalRow]:
    """The rows by these columns, nulls first."""
    return sorted(rows, key=lambda row: [(row[name] is not None, row[name]) for name in names])
