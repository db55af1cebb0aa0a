"""The classes about the progress of groups in plain Python, event by event: slow, and easy to believe.

Rows are those of `tests.support.group_history.GroupHistory`; one partition, whose records are all there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.support.group_history import SESSION, GroupHistory
from tests.support.history import SECOND, Row

_UNKNOWN = 30 * SECOND
_EVER = 2**63


class GroupFinding(NamedTuple):
    """Class, member (and second member), offset, and the number of answers, records or commits."""

    finding: str
    members: tuple[str, ...]
    offset: int
    count: int


Times = tuple[tuple[int, int], ...]
"""From when to when the topic was deleted and created again, ns."""


def group_findings(history: GroupHistory, recreated: Times = ()) -> list[GroupFinding]:
    """Every finding about the group. Two stretches of answers that lack one commit are two, even if they are
    equally long; of all others there is one of a kind."""
    others = {*_early(history), *_ahead(history), *_foreign(history), *_two_owners(history)}
    return [*_lost_and_stale(history, recreated), *others]


def _span(commit: Row) -> tuple[int, int]:
    """When a commit can have been applied."""
    since = commit["at_ns"] - _UNKNOWN if commit["asked_ns"] is None else commit["asked_ns"]
    return since, commit["at_ns"] if commit["error"] is None else _EVER


def _never(commit: Row) -> bool:
    return bool(commit["kind"] == "transaction" and commit["error"] == "ABORTED")


def _fetched(history: GroupHistory) -> list[Row]:
    rows = [row for row in history.answers if row["source"] == "fetch" and row.get("error") is None]
    return sorted(rows, key=lambda row: (row["asked_ns"], row["at_ns"]))


def _lost_and_stale(history: GroupHistory, recreated: Times) -> Iterator[GroupFinding]:
    answers = _fetched(history)
    stretch: list[Row] = []
    for position, answer in enumerate(answers):
        commit = _lacked(history, answer, recreated)
        if commit is not None:
            stretch.append(commit)
        if stretch and (commit is None or position == len(answers) - 1):
            highest = max(stretch, key=lambda one: (one["offset"], one["at_ns"]))
            gone = commit is not None or _gone(history, highest)
            name = "commit_lost" if gone else "commit_stale"
            yield GroupFinding(name, (highest["reader"],), highest["offset"], len(stretch))
            stretch = []


def _lacked(history: GroupHistory, answer: Row, recreated: Times) -> Row | None:
    """The commit that an answer lacks without an explanation."""
    before = [row for row in history.commits if row["error"] is None and row["at_ns"] < answer["asked_ns"]]
    for since, ended in recreated:
        # What was committed before was deleted with the topic.
        before = [row for row in before if since > answer["at_ns"] or _span(row)[0] > ended]
    if not before:
        return None
    commit = max(before, key=lambda row: (row["offset"], row["at_ns"]))
    seen = answer["offset"]
    if seen is not None and commit["offset"] <= seen:
        return None
    since, _ = _span(commit)
    for other in history.commits:
        earliest, latest = _span(other)
        if other["offset"] == seen and not _never(other) and latest >= since and earliest <= answer["at_ns"]:
            return None
    logs: dict[int, list[Row]] = {}
    for row in history.answers:
        if row["source"] != "fetch":
            logs.setdefault(row["broker"], []).append(row)
    for rows in logs.values():
        own = [row["log_offset"] for row in rows if row["offset"] == commit["offset"]]
        later = [row["log_offset"] for row in rows if row["offset"] == seen and seen is not None]
        if own and later and max(later) > min(own):
            return None
    return commit


def _gone(history: GroupHistory, commit: Row) -> bool:
    logged = {row["offset"] for row in history.answers if row["source"] != "fetch"}
    older = {
        row["offset"] for row in history.commits if row["error"] is None and row["at_ns"] < _span(commit)[0]
    }
    return commit["offset"] not in logged and bool(logged & older)


def _early(history: GroupHistory) -> Iterator[GroupFinding]:
    of_transactions = {row["offset"] for row in history.commits if row["kind"] == "transaction"}
    for answer in _fetched(history):
        offset = answer["offset"]
        possible = any(
            row["offset"] == offset and not _never(row) and _span(row)[0] <= answer["at_ns"]
            for row in history.commits
        )
        if offset in of_transactions and not possible:
            yield GroupFinding("commit_ahead", (), offset, 1)


def _ahead(history: GroupHistory) -> Iterator[GroupFinding]:
    worst: dict[str, tuple[int, int]] = {}
    first = min((row["offset"] for row in history.given), default=_EVER)
    for row in sorted(history.commits, key=lambda one: history.commits.index(one)):
        if row["error"] is not None or row["kind"] not in ("request", "transaction"):
            continue
        given = [one["offset"] for one in history.given if one["read_ns"] <= row["at_ns"]]
        beyond = max(given, default=first - 1) + 1
        count = sum(beyond <= offset < row["offset"] for offset in range(history.log))
        if count > worst.get(row["reader"], (0, 0))[0]:
            worst[row["reader"]] = (count, row["offset"])
    for reader, (count, offset) in worst.items():
        yield GroupFinding("commit_ahead", (reader,), offset, count)


class Owned(NamedTuple):
    reader: str
    begin: int
    end: int
    confirmed: bool


def _owned(history: GroupHistory) -> list[Owned]:
    found = []
    for reader in sorted({row["reader"] for row in history.owners}):
        begin: int | None = None
        for row in sorted(history.owners, key=lambda one: one["at_ns"]):
            if row["reader"] != reader:
                continue
            if begin is not None:
                found.append(Owned(reader, begin, row["at_ns"], row["event"] == "revoked"))
            begin = row["at_ns"] if row["event"] == "assigned" else None
        if begin is not None:
            found.append(Owned(reader, begin, _EVER, confirmed=False))
    return found


def _foreign(history: GroupHistory) -> Iterator[GroupFinding]:
    owned = _owned(history)
    known = {one.reader for one in owned}
    found: dict[str, list[int]] = {}
    for row in sorted(history.commits, key=lambda one: one["at_ns"]):
        if row["error"] is None and row["reader"] in known and not _was_owner(row, owned):
            found.setdefault(row["reader"], []).append(row["offset"])
    for reader, offsets in found.items():
        yield GroupFinding("foreign_commit", (reader,), offsets[0], len(offsets))


def _was_owner(commit: Row, owned: Sequence[Owned]) -> bool:
    asked, at = commit["asked_ns"], commit["at_ns"]
    mine = [
        one
        for one in owned
        if one.reader == commit["reader"] and one.begin <= at and (asked is None or one.end >= asked)
    ]
    if not mine or asked is None:
        return bool(mine)
    last = max(one.begin for one in mine)
    return not any(
        one.reader != commit["reader"] and last < one.begin < asked and one.end > at for one in owned
    )


def _two_owners(history: GroupHistory) -> Iterator[GroupFinding]:
    owned = _owned(history)
    for first in owned:
        for second in owned:
            if second.reader == first.reader or not first.begin <= second.begin < first.end:
                continue
            contacts = [row["at_ns"] for row in history.owners if row["reader"] == first.reader]
            contacts += [
                row["asked_ns"]
                for row in history.commits
                if row["reader"] == first.reader and row["error"] is None and row["asked_ns"] is not None
            ]
            last = max((time for time in contacts if time <= second.begin), default=-_EVER)
            until = min(first.end, second.end)
            given = {
                one.reader: [
                    row["offset"]
                    for row in history.given
                    if row["reader"] == one.reader and second.begin < row["read_ns"] < until
                ]
                for one in (first, second)
            }
            if first.confirmed and second.begin - last < SESSION * SECOND and all(given.values()):
                offsets = given[second.reader]
                yield GroupFinding("two_owners", (first.reader, second.reader), min(offsets), len(offsets))
