"""What the journals hold of one partition of a consumer group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from checkers.groups.anomalies import MOST, Row, of_journal

UNKNOWN_NS = 30_000_000_000
"""A commit of which the time of asking is not known was sent at most so long before its answer was taken:
twice the time after which our readers' clients give up a request, and then some."""


@dataclass(frozen=True)
class Ownership:
    """A reader owned a partition from `begin` to `end` (`MOST`: to the end of the journal), in ns, by its own
    journal. `offset` is where it began to read (None: not known); `confirmed`: it gave the partition up, it
    did not lose it."""

    reader: str
    begin: int
    end: int
    offset: int | None
    confirmed: bool


@dataclass(frozen=True)
class PartitionJournals:
    """The rows of one partition of a group, with the columns of their journals, by time.

    `commits` also have `known`: whether the journal of assignments knows the reader. `answers` are rows of
    the journal of offsets. `given` has a row for all records that a reader was given at one time: `reader`,
    `at_ns`, `first`, `offset` (the least and the greatest offset) and `count`.
    """

    commits: list[Row]
    answers: list[Row]
    owned: list[Ownership]
    given: pa.Table

    @classmethod
    def of_table(cls, rows: pa.Table) -> PartitionJournals:
        """From rows of several journals, as `checkers.groups.find` hands them to the rules."""
        assignments = of_journal(rows, "assignments").to_pylist()
        return cls(
            _sorted(of_journal(rows, "commits").to_pylist(), "at_ns", "asked_ns", "offset", "reader"),
            _sorted(of_journal(rows, "offsets").to_pylist(), "asked_ns", "at_ns", "offset", "broker"),
            ownerships(_sorted(assignments, "at_ns", "session", "event")),
            of_journal(rows, "live").sort_by("at_ns"),
        )

    @cached_property
    def done(self) -> list[Row]:
        """The commits that were answered without an error."""
        return [one for one in self.commits if one["error"] is None]

    @cached_property
    def possible(self) -> dict[int, list[Row]]:
        """By offset, the commits that may have been applied: an aborted transaction sets nothing."""
        found = defaultdict(list)
        for one in self.commits:
            if one["kind"] != "transaction" or one["error"] != "ABORTED":
                found[one["offset"]].append(one)
        return found

    @cached_property
    def fetched(self) -> list[Row]:
        """The coordinators' answers without an error."""
        return [one for one in self.answers if one["source"] == "fetch" and one["error"] is None]

    @cached_property
    def logged(self) -> dict[int | None, dict[int, list[int]]]:
        """By committed offset and broker, where the broker's file of `__consumer_offsets` has the commit."""
        found: dict[int | None, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for one in self.answers:
            if one["source"] in ("logged", "logged-transaction"):
                found[one["offset"]][one["broker"]].append(one["log_offset"])
        return found


def ownerships(assignments: Iterable[Row]) -> list[Ownership]:
    """The ownerships of one partition, from its rows of the journal of assignments by time.

    A partition that is assigned to its owner again, as after a seek, begins another one, so that the time
    between is not taken for certain.
    """
    begun: dict[str, Row] = {}
    found = []
    for row in assignments:
        if began := begun.pop(row["reader"], None):
            confirmed = row["event"] == "revoked"
            found.append(Ownership(row["reader"], began["at_ns"], row["at_ns"], began["offset"], confirmed))
        if row["event"] == "assigned":
            begun[row["reader"]] = row
    found += [
        Ownership(reader, row["at_ns"], MOST, row["offset"], confirmed=False) for reader, row in begun.items()
    ]
    return sorted(found, key=lambda one: (one.begin, one.reader))


def earliest(commit: Row) -> int:
    """The earliest time at which a commit can have been applied, ns."""
    return int(commit["at_ns"] - UNKNOWN_NS if commit["asked_ns"] is None else commit["asked_ns"])


def latest(commit: Row) -> int:
    """The latest time at which a commit can have been applied, ns: one without an answer, at any time."""
    return int(commit["at_ns"]) if commit["error"] is None else MOST


def _sorted(rows: Iterable[Row], *names: str) -> list[Row]:
    """The rows by these columns, nulls first."""
    return sorted(rows, key=lambda row: [(row[name] is not None, row[name]) for name in names])
