"""The progress of consumer groups with an anomaly: commits that are gone, ahead, or of a member that owns
nothing, and partitions with two owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from checkers.facts.columns import MOST, NULL, ColumnBatch, Flags, Ints
from checkers.facts.group_journals import (
    ABORTED,
    ANSWERED,
    AUTO,
    FETCH,
    LOGGED,
    TRANSACTION,
    GroupFiles,
    GroupJournals,
    lower,
    upper,
)
from checkers.facts.offsets import NOTHING, Ranges
from checkers.facts.ownership import Ownership, ownerships

LOST, STALE, AHEAD, EARLY, FOREIGN, SHARED = range(6)
"""Kinds of rows: a commit that is gone; one that an answer lacked for a while; one beyond what was given; an
offset of a transaction that an answer had before or without its commit; a commit of a member that is no
owner; a partition that two members own."""

PROGRESS = ("kind", "reader", "other", "spot", "offset", "seen", "count", "broker", "at_ns", "until_ns")
"""One row per anomaly in the progress of a group.

`reader` is the number of the member that committed, or that owned the partition first, `other` that of its
second owner (null: does not apply). `offset` is the committed one, or the first record that the second owner
was given; `seen` is what `broker` answered (null: no offset). `count` is the number of answers, of records
that the commit passes, of commits, or of records that the second owner was given. `at_ns` and `until_ns` are
the times of the commit and of the last such answer; of two owners, those of their overlap."""

Row = dict[str, int]


def progress_of(journals: GroupJournals, files: GroupFiles, there: Mapping[int, Ranges]) -> ColumnBatch:
    """Anomalies in the progress of a group, as `PROGRESS`; `there` are the offsets that its members can be
    given, by spot."""
    rows: list[Row] = []
    contacts = _contacts(journals)
    for spot in journals.spots():
        here = journals.of(spot)
        owned = ownerships(here.owners)
        rows += [
            {"spot": spot, **row}
            for row in (
                *_lacking(here, files),
                *_early(here),
                *_ahead(here, there.get(spot, NOTHING), owned),
                *_foreign(here.commits, owned, contacts),
                *_shared(here.given, owned, contacts, files.session_ns),
            )
        ]
    return ColumnBatch({name: np.array([row.get(name, NULL) for row in rows], np.int64) for name in PROGRESS})


@dataclass(frozen=True)
class _Contacts:
    """When each reader with assignments was certainly known to the coordinator, ascending, in ns: at these,
    and when it asked for a commit that was answered without an error."""

    times: Mapping[int, Ints]

    def within(self, reader: int, time: int, session_ns: int) -> bool:
        """Whether the coordinator cannot have expired the reader at this time: there was a contact within the
        session time-out before it."""
        times = self.times[reader]
        before = int(np.searchsorted(times, time, "right")) - 1
        return before >= 0 and time - int(times[before]) < session_ns


def _contacts(journals: GroupJournals) -> _Contacts:
    owners, commits = journals.owners, journals.commits
    good = (commits["error"] == ANSWERED) & (commits["asked_ns"] != NULL)
    reader = np.concatenate([owners["reader"], commits["reader"][good]])
    time = np.concatenate([owners["at_ns"], commits["asked_ns"][good]])
    known = np.unique(owners["reader"]).tolist()
    return _Contacts({number: np.sort(time[reader == number]) for number in known})


def _lacking(here: GroupJournals, files: GroupFiles) -> Iterator[Row]:
    """Stretches of answers that lack a commit."""
    answers = here.answers
    order = np.lexsort((answers["at_ns"], answers["asked_ns"]))
    answers = answers.where(order)
    answers = answers.where(np.flatnonzero((answers["source"] == FETCH) & (answers["error"] == NULL)))
    done = here.commits.where(np.flatnonzero(here.commits["error"] == ANSWERED))
    if not len(answers) or not len(done):
        return
    done = done.where(np.argsort(done["at_ns"], kind="stable"))
    logged = here.answers.where(np.flatnonzero(here.answers["source"] == LOGGED))
    # The highest commit that was answered before each question.
    best = np.maximum.accumulate(done["offset"])
    until = np.searchsorted(done["at_ns"], answers["asked_ns"], "left") - 1
    seen = np.where(answers["offset"] == NULL, -1, answers["offset"])
    suspects = (until >= 0) & (best[np.maximum(until, 0)] > seen)
    lacked: dict[int, int] = {}
    for number in np.flatnonzero(suspects).tolist():
        commit = int(np.flatnonzero(done["offset"][: until[number] + 1] == best[until[number]])[-1])
        if not _explained(here.commits, done, commit, answers, number, logged, files):
            lacked[number] = commit
    numbers = range(len(answers))
    for lacks, stretch in groupby(numbers, lambda number: number in lacked):
        if lacks:
            run = list(stretch)
            # Of several commits of the highest offset the last one, as for a single answer.
            commit = max(
                (lacked[number] for number in run),
                key=lambda one: (int(done["offset"][one]), int(done["at_ns"][one])),
            )
            back = run[-1] < len(answers) - 1
            gone = not back or _gone_from_files(done, commit, logged)
            yield {
                "kind": LOST if gone else STALE,
                **_of(done, commit),
                "seen": int(answers["offset"][run[0]]),
                "broker": int(answers["broker"][run[0]]),
                "count": len(run),
                "until_ns": int(answers["at_ns"][run[-1]]),
            }


def _explained(
    commits: ColumnBatch,
    done: ColumnBatch,
    commit: int,
    answers: ColumnBatch,
    number: int,
    logged: ColumnBatch,
    files: GroupFiles,
) -> bool:
    """Whether another commit may have followed this one and given the answer; or it has expired, or was
    deleted with its topic."""
    seen, until = int(answers["offset"][number]), int(answers["at_ns"][number])
    since = int(lower(done)[commit])
    if any(since <= ended and begun <= until for begun, ended in files.made_again):
        return True
    if seen == NULL:
        return until - int(done["at_ns"][commit]) >= files.retention_ns
    same = (commits["offset"] == seen) & (upper(commits) >= since) & (lower(commits) <= until)
    # An aborted transaction sets nothing.
    if (same & ~((commits["kind"] == TRANSACTION) & (commits["error"] == ABORTED))).any():
        return True
    # Somebody else committed it: the log has it behind this commit.
    for broker in np.unique(logged["broker"]).tolist():
        file = logged["broker"] == broker
        behind = logged["log_offset"][file & (logged["offset"] == seen)]
        first = logged["log_offset"][file & (logged["offset"] == done["offset"][commit])]
        if len(behind) and len(first) and int(behind.max()) > int(first.min()):
            return True
    return False


def _gone_from_files(done: ColumnBatch, commit: int, logged: ColumnBatch) -> bool:
    """Whether the replicas' files lack a commit and hold one that was done before it, so that they were not
    cleaned since."""
    older = done["offset"][done["at_ns"] < lower(done)[commit]]
    return bool(
        not (logged["offset"] == done["offset"][commit]).any() and np.isin(logged["offset"], older).any()
    )


def _early(here: GroupJournals) -> Iterator[Row]:
    """Answers with the offset of a transaction, before its commit was asked for or although it was
    aborted."""
    commits, answers = here.commits, here.answers
    offsets = np.unique(commits["offset"][commits["kind"] == TRANSACTION])
    if not len(offsets):
        return
    chosen = (answers["source"] == FETCH) & (answers["error"] == NULL) & np.isin(answers["offset"], offsets)
    possible = commits.where(
        np.flatnonzero(~((commits["kind"] == TRANSACTION) & (commits["error"] == ABORTED)))
    )
    since = lower(possible)
    found: set[int] = set()
    for number in np.flatnonzero(chosen).tolist():
        offset, at = int(answers["offset"][number]), int(answers["at_ns"][number])
        if offset in found or ((possible["offset"] == offset) & (since <= at)).any():
            continue
        found.add(offset)
        yield {
            "kind": EARLY,
            "offset": offset,
            "seen": offset,
            "broker": int(answers["broker"][number]),
            "count": 1,
            "at_ns": int(answers["asked_ns"][number]),
            "until_ns": at,
        }


def _ahead(here: GroupJournals, there: Ranges, owned: list[Ownership]) -> Iterator[Row]:
    """Of each member, the commit that was furthest beyond what all members had been given."""
    commits, given = here.commits, here.given
    chosen = (commits["error"] == ANSWERED) & (commits["kind"] != AUTO) & (commits["kind"] != NULL)
    commits = commits.where(np.flatnonzero(chosen))
    if not len(commits):
        return
    given = given.where(np.argsort(given["read_ns"], kind="stable"))
    highest = np.maximum.accumulate(given["offset"])
    until = np.searchsorted(given["read_ns"], commits["at_ns"], "right") - 1
    begins = [one.offset for one in owned if one.offset != NULL]
    # Where nothing was given yet, all from where the group began to read is beyond.
    first = min([*begins, *([int(given["offset"].min())] if len(given) else [])], default=MOST)
    upto = np.where(until >= 0, highest[np.maximum(until, 0)] if len(highest) else NULL, first - 1)
    worst: dict[int, Row] = {}
    for number in np.flatnonzero(commits["offset"] - 1 > upto).tolist():
        beyond = there.between(int(upto[number]) + 1, int(commits["offset"][number]) - 1)
        count = int((beyond.end - beyond.start + 1).sum())
        reader = int(commits["reader"][number])
        if count and count > worst.get(reader, {}).get("count", 0):
            worst[reader] = {"kind": AHEAD, **_of(commits, number), "count": count}
    yield from worst.values()


def _foreign(commits: ColumnBatch, owned: list[Ownership], contacts: _Contacts) -> Iterator[Row]:
    """Of each member, its first commit of a partition that it did not own."""
    found: dict[int, Row] = {}
    for number in np.argsort(commits["at_ns"], kind="stable").tolist():
        reader, at = int(commits["reader"][number]), int(commits["at_ns"][number])
        # A reader without assignments has no journal of them, as histories of other tools.
        if commits["error"][number] != ANSWERED or reader not in contacts.times:
            continue
        asked = int(commits["asked_ns"][number])
        mine = [one for one in owned if one.reader == reader and one.begin <= at and one.end >= asked]
        newer = [
            one
            for one in owned
            if one.reader != reader and asked != NULL and one.begin < asked and one.end > at
            if mine and all(each.begin < one.begin for each in mine)
        ]
        if mine and not newer:
            continue
        if reader in found:
            found[reader]["count"] += 1
        else:
            found[reader] = {"kind": FOREIGN, **_of(commits, number), "count": 1}
    yield from found.values()


def _shared(
    given: ColumnBatch, owned: list[Ownership], contacts: _Contacts, session_ns: Mapping[int, int]
) -> Iterator[Row]:
    """Pairs of owners at one time that were both given records then."""
    for first in owned:
        for second in owned:
            if second.reader == first.reader or not first.begin <= second.begin < first.end:
                continue
            if not first.confirmed or not contacts.within(
                first.reader, second.begin, session_ns.get(first.reader, 0)
            ):
                continue
            until = min(first.end, second.end)
            one, other = (
                _given_between(given, owner.reader, second.begin, until) for owner in (first, second)
            )
            if one.any() and other.any():
                yield {
                    "kind": SHARED,
                    "reader": first.reader,
                    "other": second.reader,
                    "offset": int(given["offset"][other].min()),
                    "count": int(other.sum()),
                    "at_ns": second.begin,
                    "until_ns": until,
                }


def _given_between(given: ColumnBatch, reader: int, since: int, until: int) -> Flags:
    time = given["read_ns"]
    return np.asarray((given["reader"] == reader) & (time > since) & (time < until))


def _of(commits: ColumnBatch, number: int) -> dict[str, Any]:
    at = int(commits["at_ns"][number])
    return {
        "reader": int(commits["reader"][number]),
        "offset": int(commits["offset"][number]),
        "at_ns": at,
        "until_ns": at,
    }
