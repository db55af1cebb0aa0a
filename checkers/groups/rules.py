"""The rules about one partition of a consumer group.

`suspect_rules` judges a partition by its own journals. Anomalies of two kinds may have an explanation in data
that would be too much to read for every partition: commits beyond what was delivered, in the offsets that the
log holds (`ahead_rules`), and two owners, in the members' contacts about other partitions
(`checkers.groups.find`). That data is read for these suspects alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby, permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.groups.anomalies import ANOMALIES, integers, offsets_of, rows_of_journal
from checkers.groups.journals import PartitionJournals, earliest_ns, latest_ns
from checkers.int64 import INT64_MAX, INT64_MIN
from harness.model.journal_reader import JournalRow
from harness.model.run import RunMeta


@dataclass(frozen=True)
class OffsetRetention:
    """When brokers delete committed offsets: `retention_ns` after a group has become empty, and when their
    topic is deleted; `recreated` are the times (begin, end, in ns) in which it was, and was created again."""

    retention_ns: int
    recreated: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, meta: RunMeta) -> OffsetRetention:
        """The retention of a run's brokers; Kafka's default is a week."""
        minutes = int(meta.cluster.properties.get("offsets.retention.minutes", 7 * 24 * 60))
        recreated = tuple(
            (step.started_ns, step.ended_ns or step.started_ns)
            for step in meta.steps
            if step.kind == "recreate_topic"
        )
        return cls(minutes * 60_000_000_000, recreated)


def suspect_rules(rows: pa.Table, retention: OffsetRetention) -> list[pa.Table]:
    """All anomalies by the rows of the journals (`PartitionJournals.of_table`); those of the kinds
    "commit_ahead" and "two_owners" are suspects, which other data may explain."""
    journals = PartitionJournals.of_table(rows)
    anomalies = [
        *_missing_commits(journals, retention),
        *_early_transactions(journals),
        *_commits_ahead(journals),
        *_foreign_commits(journals),
        *_two_owners(journals),
    ]
    return [pa.Table.from_pylist(anomalies, schema=ANOMALIES)]


def ahead_rules(rows: pa.Table) -> list[pa.Table]:
    """Of the suspects of kind "commit_ahead" (rows of `ANOMALIES`), for each member the one that passes over
    most records of the log, with their `count`."""
    log = offsets_of(rows_of_journal(rows, "log"))
    suspects = rows_of_journal(rows, "suspects").to_pylist()
    furthest: dict[str, JournalRow] = {}
    for row in sorted(suspects, key=lambda row: (row["at_ns"], row["offset"])):
        low, high = np.searchsorted(log, [row["first_undelivered"], row["offset"]]).tolist()
        if high - low > furthest.get(row["reader"], {"count": 0})["count"]:
            furthest[row["reader"]] = {**row, "count": high - low}
    return [pa.Table.from_pylist(list(furthest.values()), schema=ANOMALIES)]


def _missing_commits(journals: PartitionJournals, retention: OffsetRetention) -> Iterator[JournalRow]:
    """Stretches of consecutive answers that lack a commit which was answered before they were asked for."""
    kept: dict[int, tuple[list[int], list[JournalRow]]] = {}
    answers: list[tuple[JournalRow, JournalRow | None]] = []
    for answer in journals.fetched:
        # Commits are deleted with their topic, so those before it was created again are not missing.
        begun = (ended for since, ended in retention.recreated if since <= answer["at_ns"])
        gone = max(begun, default=INT64_MIN)
        if gone not in kept:
            commits = [row for row in journals.accepted if earliest_ns(row) > gone]
            kept[gone] = [row["at_ns"] for row in commits], list(accumulate(commits, _higher))
        times, highest = kept[gone]
        before = bisect_left(times, answer["asked_ns"])
        commit = highest[before - 1] if before else None
        lacked = commit if commit and not _explained(journals, commit, answer, retention) else None
        answers.append((answer, lacked))
    for lacks, several in groupby(answers, key=lambda pair: pair[1] is not None):
        if lacks:
            stretch = list(several)
            first, last = stretch[0][0], stretch[-1][0]
            commit = max((row for _, row in stretch if row), key=lambda row: (row["offset"], row["at_ns"]))
            lost = last is journals.fetched[-1] or _absent_from_files(journals, commit)
            yield {
                "kind": "commit_lost" if lost else "commit_stale",
                **_columns_of(commit),
                "answered_offset": first["offset"],
                "broker": first["broker"],
                "count": len(stretch),
                "until_ns": last["at_ns"],
            }


def _higher(highest: JournalRow, commit: JournalRow) -> JournalRow:
    """The commit of the higher offset; of two of the same offset the second one."""
    return commit if commit["offset"] >= highest["offset"] else highest


def _explained(
    journals: PartitionJournals, commit: JournalRow, answer: JournalRow, retention: OffsetRetention
) -> bool:
    """Whether the answer is right although this commit came before it: it has the commit or a higher offset,
    another commit may have followed and set the answered offset, or the commit has expired."""
    since, answered, until = earliest_ns(commit), answer["offset"], answer["at_ns"]
    if answered is not None and commit["offset"] <= answered:
        return True
    if answered is None:
        return bool(until - commit["at_ns"] >= retention.retention_ns)
    others = journals.may_be_applied.get(answered, ())
    if any(latest_ns(other) >= since and earliest_ns(other) <= until for other in others):
        return True
    # A client without a journal committed the answered offset if a broker's file has it after this commit.
    later, earlier = (journals.log_offsets.get(offset, {}) for offset in (answered, commit["offset"]))
    return any(max(later[broker]) > min(earlier[broker]) for broker in later.keys() & earlier.keys())


def _absent_from_files(journals: PartitionJournals, commit: JournalRow) -> bool:
    """Whether the replicas' files lack a commit and hold an earlier one. If they hold an earlier one, they
    were not compacted since, so the commit was never in them."""
    earlier = (row["offset"] for row in journals.accepted if row["at_ns"] < earliest_ns(commit))
    return commit["offset"] not in journals.log_offsets and any(
        offset in journals.log_offsets for offset in earlier
    )


def _early_transactions(journals: PartitionJournals) -> Iterator[JournalRow]:
    """Answers with an offset that only a transaction sets, before its commit was asked for or although it was
    aborted: the first answer of each offset."""
    offsets = {commit["offset"] for commit in journals.commits if commit["kind"] == "transaction"}
    for answer in journals.fetched:
        offset, until = answer["offset"], answer["at_ns"]
        setters = journals.may_be_applied.get(offset, ())
        if offset in offsets and all(earliest_ns(setter) > until for setter in setters):
            offsets.remove(offset)
            yield {
                "kind": "transaction_early",
                "offset": offset,
                "answered_offset": offset,
                "broker": answer["broker"],
                "count": 1,
                "at_ns": answer["asked_ns"],
                "until_ns": until,
            }


def _commits_ahead(journals: PartitionJournals) -> Iterator[JournalRow]:
    """Commits beyond all that the members had received. Whether the log holds records between
    `first_undelivered` and the committed offset is left to `ahead_rules`."""
    # Automatic commits are made by the client while it returns records, so they may be a little ahead.
    commits = [row for row in journals.accepted if row["kind"] not in ("auto", None)]
    starts = [ownership.offset for ownership in journals.ownerships if ownership.offset is not None]
    # Before the first record was received, everything from where the group began to read is undelivered.
    start = min([*starts, int(integers(journals.polls["first"]).min(initial=INT64_MAX))])
    received = np.maximum.accumulate(integers(journals.polls["offset"]))
    highest = np.concatenate([np.array([start - 1], np.int64), received])
    times = np.array([row["at_ns"] for row in commits], np.int64)
    at_commit = highest[np.searchsorted(integers(journals.polls["at_ns"]), times, "right")]
    for commit, last in zip(commits, at_commit.tolist(), strict=True):
        if commit["offset"] - 1 > last:
            yield {"kind": "commit_ahead", **_columns_of(commit), "first_undelivered": last + 1}


def _columns_of(commit: JournalRow) -> JournalRow:
    """The columns of an anomaly that describe a commit."""
    at = commit["at_ns"]
    return {"reader": commit["reader"], "offset": commit["offset"], "at_ns": at, "until_ns": at}


def _foreign_commits(journals: PartitionJournals) -> list[JournalRow]:
    """The first commit by each member of a partition that it did not own; `count` is the number of them."""
    by_reader: dict[str, JournalRow] = {}
    for commit in journals.accepted:
        reader, at, asked = commit["reader"], commit["at_ns"], commit["asked_ns"]
        # Histories of other tools may have no journal of assignments, so nothing is known of owners.
        if not commit["has_assignments"]:
            continue
        own = [
            ownership.begin
            for ownership in journals.ownerships
            if ownership.reader == reader
            and ownership.begin <= at
            and (asked is None or ownership.end >= asked)
        ]
        last = max(own, default=INT64_MAX)
        replaced = asked is not None and any(
            ownership.reader != reader and last < ownership.begin < asked and ownership.end > at
            for ownership in journals.ownerships
        )
        if not own or replaced:
            first = {"kind": "foreign_commit", **_columns_of(commit), "count": 0}
            by_reader.setdefault(reader, first)["count"] += 1
    return list(by_reader.values())


def _two_owners(journals: PartitionJournals) -> Iterator[JournalRow]:
    """Pairs of owners at one time that both received records then. The coordinator may have expired the
    first one: `checkers.groups.find` looks at its contacts."""
    for first, second in permutations(journals.ownerships, 2):
        if second.reader == first.reader or not first.begin <= second.begin < first.end:
            continue
        if not first.revoked:
            continue
        until = min(first.end, second.end)
        of_first, of_second = (
            _polls_between(journals.polls, owner.reader, second.begin, until) for owner in (first, second)
        )
        if len(of_first) and len(of_second):
            yield {
                "kind": "two_owners",
                "reader": first.reader,
                "other": second.reader,
                "offset": pc.min(of_second["first"]).as_py(),
                "count": pc.sum(of_second["count"]).as_py(),
                "at_ns": second.begin,
                "until_ns": until,
            }


def _polls_between(polls: pa.Table, reader: str, since: int, until: int) -> pa.Table:
    time = pc.field("at_ns")
    return polls.filter((pc.field("reader") == reader) & (time > since) & (time < until))
