"""The rules about one partition of a consumer group.

First `suspect_rules` finds what is wrong by the partition's own journals. Some of that is explained by what
is a lot to hand over for nothing: what the log holds (`ahead_rules`), and the members' contacts about other
partitions. It is looked at for those suspects alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby, permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.groups.anomalies import ANOMALIES, MOST, Row, integers, of_journal, offsets_of
from checkers.groups.journals import PartitionJournals, earliest, latest
from harness.model.run import RunMeta

_RETENTION_MINUTES = 7 * 24 * 60
"""Kafka's default."""
_MINUTE = 60_000_000_000


@dataclass(frozen=True)
class OffsetRetention:
    """How long committed offsets are kept: `retention_ns` after a group is empty, and not beyond the times
    (begin, end, in ns) in which their topic was deleted and created again."""

    retention_ns: int
    recreated: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, meta: RunMeta) -> OffsetRetention:
        """As the brokers of a run keep them."""
        minutes = int(meta.cluster.properties.get("offsets.retention.minutes", _RETENTION_MINUTES))
        recreated = tuple(
            (step.started_ns, step.ended_ns or step.started_ns)
            for step in meta.steps
            if step.kind == "recreate_topic"
        )
        return cls(minutes * _MINUTE, recreated)


def suspect_rules(rows: pa.Table, retention: OffsetRetention) -> list[pa.Table]:
    """All anomalies by the rows of the journals (`PartitionJournals.of_table`), and those of the kinds
    "commit_ahead" and "two_owners" that may be explained."""
    journals = PartitionJournals.of_table(rows)
    found = [
        *_missing_commits(journals, retention),
        *_early_transactions(journals),
        *_commits_ahead(journals),
        *_foreign_commits(journals),
        *_two_owners(journals),
    ]
    return [pa.Table.from_pylist(found, schema=ANOMALIES)]


def ahead_rules(rows: pa.Table) -> list[pa.Table]:
    """Of the suspects of kind "commit_ahead" (rows of `ANOMALIES`), by member the one that passes most
    records of the log, with their `count`."""
    log = offsets_of(of_journal(rows, "log"))
    suspects = of_journal(rows, "suspects").to_pylist()
    worst: dict[str, Row] = {}
    for row in sorted(suspects, key=lambda row: (row["at_ns"], row["offset"])):
        low, high = np.searchsorted(log, [row["seen"], row["offset"]]).tolist()
        if high - low > worst.get(row["reader"], {"count": 0})["count"]:
            worst[row["reader"]] = {**row, "count": high - low}
    return [pa.Table.from_pylist(list(worst.values()), schema=ANOMALIES)]


def _missing_commits(journals: PartitionJournals, retention: OffsetRetention) -> Iterator[Row]:
    """Stretches of answers that lack a commit."""
    times = [one["at_ns"] for one in journals.done]
    best = list(accumulate(journals.done, _higher))
    lacking: list[tuple[Row, Row]] = []
    for answer in journals.fetched:
        before = bisect_left(times, answer["asked_ns"])
        lacked = before > 0 and not _explained(journals, best[before - 1], answer, retention)
        lacking.append((answer, best[before - 1] if lacked else {}))
    for lacks, several in groupby(lacking, key=lambda pair: bool(pair[1])):
        if lacks:
            stretch = list(several)
            first, last = stretch[0][0], stretch[-1][0]
            commit = max((one for _, one in stretch), key=lambda one: (one["offset"], one["at_ns"]))
            gone = last is journals.fetched[-1] or _gone_from_files(journals, commit)
            yield {
                "kind": "commit_lost" if gone else "commit_stale",
                **_about(commit),
                "seen": first["offset"],
                "broker": first["broker"],
                "count": len(stretch),
                "until_ns": last["at_ns"],
            }


def _higher(best: Row, one: Row) -> Row:
    """The commit of the higher offset; of two of the same offset the second one."""
    return one if one["offset"] >= best["offset"] else best


def _explained(journals: PartitionJournals, commit: Row, answer: Row, retention: OffsetRetention) -> bool:
    """Whether the answer has this commit; or another one may have followed it and given the answer; or it has
    expired, or was deleted with its topic."""
    since, seen, until = earliest(commit), answer["offset"], answer["at_ns"]
    if seen is not None and commit["offset"] <= seen:
        return True
    if any(since <= ended and begun <= until for begun, ended in retention.recreated):
        return True
    if seen is None:
        return bool(until - commit["at_ns"] >= retention.retention_ns)
    if any(latest(one) >= since and earliest(one) <= until for one in journals.possible.get(seen, ())):
        return True
    # Somebody else committed it: the log has it behind this commit.
    behind, first = journals.logged.get(seen, {}), journals.logged.get(commit["offset"], {})
    return any(max(behind[broker]) > min(first[broker]) for broker in behind.keys() & first.keys())


def _gone_from_files(journals: PartitionJournals, commit: Row) -> bool:
    """Whether the replicas' files lack a commit and hold one that was done before it, so that they were not
    cleaned since."""
    older = (one["offset"] for one in journals.done if one["at_ns"] < earliest(commit))
    return commit["offset"] not in journals.logged and any(offset in journals.logged for offset in older)


def _early_transactions(journals: PartitionJournals) -> Iterator[Row]:
    """Answers with the offset of a transaction, before its commit was asked for or although it was aborted:
    of each offset the first one."""
    offsets = {one["offset"] for one in journals.commits if one["kind"] == "transaction"}
    for answer in journals.fetched:
        offset, until = answer["offset"], answer["at_ns"]
        if offset in offsets and all(earliest(one) > until for one in journals.possible.get(offset, ())):
            offsets.remove(offset)
            yield {
                "kind": "transaction_early",
                "offset": offset,
                "seen": offset,
                "broker": answer["broker"],
                "count": 1,
                "at_ns": answer["asked_ns"],
                "until_ns": until,
            }


def _commits_ahead(journals: PartitionJournals) -> Iterator[Row]:
    """Commits beyond what all members had been given; `seen` is the first offset that they had not. Whether
    the log holds records there, `ahead_rules` looks at."""
    # The client makes commits by itself while it hands records over.
    commits = [one for one in journals.done if one["kind"] not in ("auto", None)]
    given = integers(journals.given["offset"])
    begins = [one.offset for one in journals.owned if one.offset is not None]
    # Where nothing was given yet, all from where the group began to read is beyond.
    first = min([*begins, int(integers(journals.given["first"]).min(initial=MOST))])
    highest = np.concatenate([np.array([first - 1], np.int64), np.maximum.accumulate(given)])
    times = np.array([one["at_ns"] for one in commits], np.int64)
    upto = highest[np.searchsorted(integers(journals.given["at_ns"]), times, "right")]
    for commit, last in zip(commits, upto.tolist(), strict=True):
        if commit["offset"] - 1 > last:
            yield {"kind": "commit_ahead", **_about(commit), "seen": last + 1}


def _about(commit: Row) -> Row:
    """The columns of an anomaly that are about a commit."""
    at = commit["at_ns"]
    return {"reader": commit["reader"], "offset": commit["offset"], "at_ns": at, "until_ns": at}


def _foreign_commits(journals: PartitionJournals) -> list[Row]:
    """Of each member, its first commit of a partition that it did not own; `count` is the number of them."""
    found: dict[str, Row] = {}
    for commit in journals.done:
        reader, at, asked = commit["reader"], commit["at_ns"], commit["asked_ns"]
        # A reader without assignments has no journal of them, as histories of other tools.
        if not commit["known"]:
            continue
        mine = [
            one.begin
            for one in journals.owned
            if one.reader == reader and one.begin <= at and (asked is None or one.end >= asked)
        ]
        last = max(mine, default=MOST)
        newer = asked is not None and any(
            one.reader != reader and last < one.begin < asked and one.end > at for one in journals.owned
        )
        if not mine or newer:
            found.setdefault(reader, {"kind": "foreign_commit", **_about(commit), "count": 0})["count"] += 1
    return list(found.values())


def _two_owners(journals: PartitionJournals) -> Iterator[Row]:
    """Pairs of owners at one time that were both given records then, while the first may have been
    expired."""
    for first, second in permutations(journals.owned, 2):
        if second.reader == first.reader or not first.begin <= second.begin < first.end:
            continue
        if not first.confirmed:
            continue
        until = min(first.end, second.end)
        one, other = (
            _given_between(journals.given, owner.reader, second.begin, until) for owner in (first, second)
        )
        if len(one) and len(other):
            yield {
                "kind": "two_owners",
                "reader": first.reader,
                "other": second.reader,
                "offset": pc.min(other["first"]).as_py(),
                "count": pc.sum(other["count"]).as_py(),
                "at_ns": second.begin,
                "until_ns": until,
            }


def _given_between(given: pa.Table, reader: str, since: int, until: int) -> pa.Table:
    time = pc.field("at_ns")
    return given.filter((pc.field("reader") == reader) & (time > since) & (time < until))
