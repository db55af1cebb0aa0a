"""The same classification in plain Python, record by record: slow, short, and easy to believe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from checkers.judgement.policy import compacts, retention
from harness.model.run import ReaderInfo, RunMeta
from tests.support.history import RUN, History, Row

Identity = tuple[int, int, int]


class OracleFinding(NamedTuple):
    """What the oracle says of one record."""

    finding: str
    copies: int
    offsets: tuple[int, ...]
    place: str | None
    held_by: tuple[int, ...]
    windows: str


def classify(meta: RunMeta, history: History) -> dict[Identity, OracleFinding]:
    """Every record that has a finding, by run, producer and sequence."""
    sends = {(RUN, row["producer"], row["seq"]): row for row in history.sends}
    final, committed, live = (_by_identity(rows) for rows in (history.reads, history.committed, history.live))
    told = {}
    for identity in sends.keys() | final.keys() | committed.keys() | live.keys():
        send, copies = sends.get(identity), final.get(identity, [])
        found = _finding(meta, history, identity, send, copies, committed, live.get(identity, []))
        if found is None:
            continue
        finding, place = found
        places = {_at(row) for row in copies}
        looked_for = finding == "lost" and place != "not committed"
        told[identity] = OracleFinding(
            finding,
            len(places),
            tuple(sorted(offset for _, _, offset in places)[:5]),
            place,
            tuple(sorted({row["broker"] for row in history.replicas if _holds(row, identity)}))
            if looked_for
            else (),
            _windows(meta, send, gone=finding in ("lost", "vanished")) if send else "",
        )
    return told


def _finding(
    meta: RunMeta,
    history: History,
    identity: Identity,
    send: Row | None,
    copies: list[Row],
    committed: dict[Identity, list[Row]],
    live: list[Row],
) -> tuple[str, str | None] | None:
    """The first class that applies, and a lost record's place."""
    reads = [*copies, *committed.get(identity, []), *live]
    if send is None:
        return "phantom", None
    outcome, offset = send["outcome"], send["offset"]
    where = (send["topic"], send["partition"])
    if any((row["topic"], row["partition"]) != where for row in reads):
        return "misplaced", None
    if any(row["key"] != send["key"] for row in reads):
        return "corrupt", None
    if outcome == "rejected" and (copies or live):
        return "rejected_present", None
    ends = {(row["producer"], row["txn"]): row["outcome"] for row in history.txns}
    ended = ends.get((send["producer"], send["txn"]))
    strict = {reader.name for reader in meta.readers if reader.committed}
    if ended == "aborted" and (identity in committed or any(row["reader"] in strict for row in live)):
        return "aborted_read", None
    here = {row["offset"] for row in copies}
    if len(here) > 1:
        return "duplicate", None
    others = {_at(row) for row in history.reads if row["state"] in ("ok", "foreign")}
    if copies and outcome == "acked" and offset not in here and (*where, offset) in others:
        return "inconsistent_offset", None
    gone = outcome == "acked" and not copies
    if not gone and any(row["offset"] not in here and _at(row) in others for row in live):
        return "inconsistent_offset", None
    if not copies:
        given = min((row["offset"] for row in live), default=None)
        known = offset if outcome == "acked" else given
        expired, compacted = _expired(meta, send, known), _compacted(meta, history, send, known)
        if outcome == "acked":
            policy = "expired" if expired else "compacted" if compacted else None
            return (policy, None) if policy else ("lost", _place(meta, history, send))
        if live:
            return None if expired or compacted else ("vanished", None)
        return ("unconfirmed_absent", None) if outcome == "unconfirmed" else None
    if meta.transactional and ended == "committed" and outcome == "acked" and identity not in committed:
        family = {
            (RUN, row["producer"], row["seq"])
            for row in history.sends
            if (row["producer"], row["txn"]) == (send["producer"], send["txn"])
        }
        return ("torn_transaction", None) if family & committed.keys() else ("lost", "not committed")
    if _late(history, send, min(here)):
        return "reordered", None
    return ("recovered", None) if outcome in ("indeterminate", "unconfirmed") else None


def _late(history: History, send: Row, first: int) -> bool:
    """A record of the same producer and partition, sent later, lies at a lower offset."""
    for later in history.sends:
        same = all(later[name] == send[name] for name in ("producer", "topic", "partition"))
        if same and later["seq"] > send["seq"]:
            for row in _by_identity(history.reads).get((RUN, later["producer"], later["seq"]), []):
                at_home = (row["topic"], row["partition"]) == (send["topic"], send["partition"])
                if at_home and row["offset"] < first:
                    return True
    return False


def corrupt_values(history: History) -> Counter[tuple[int, int]]:
    """Values that do not check, by partition and offset: each of the final read, and each that a live reader
    was given from a place where the final read's does."""
    bad = [row for row in history.reads if row["state"] in ("corrupt", "undecodable")]
    known = {_at(row) for row in bad}
    given = {
        (row["reader"], *_at(row))
        for row in history.live
        if row["state"] in ("corrupt", "undecodable") and _at(row) not in known
    }
    return Counter((row["partition"], row["offset"]) for row in bad) + Counter(
        (partition, offset) for _, _, partition, offset in given
    )


def deliveries(meta: RunMeta, history: History) -> Counter[tuple[str, str, int, int, int]]:
    """What readers were given wrongly: class, reader or group, partition, offset, count."""
    found: Counter[tuple[str, str, int, int, int]] = Counter()
    for reader in meta.readers:
        given = [row for row in history.live if row["reader"] == reader.name]
        for session, topic, partition in {(row["session"], row["topic"], row["partition"]) for row in given}:
            rows = [row for row in given if (row["session"], *_at(row)[:2]) == (session, topic, partition)]
            rows.sort(key=lambda row: row["position"])
            there = _held(history.committed if reader.committed else history.reads, topic, partition)
            for before, after in pairwise(rows):
                if after["offset"] <= before["offset"]:
                    found["nonmonotonic_read", reader.name, partition, after["offset"], 1] += 1
                if reader.group is None:
                    between = set(range(before["offset"] + 1, after["offset"])) & there
                    found.update(_runs("skipped", reader.name, partition, between))
    for group in {reader.group for reader in meta.readers if reader.group is not None}:
        members = [reader for reader in meta.readers if reader.group == group]
        names = {reader.name for reader in members}
        given = [row for row in history.live if row["reader"] in names]
        for topic, partition in {_at(row)[:2] for row in given}:
            offsets = [row["offset"] for row in given if _at(row)[:2] == (topic, partition)]
            for offset, count in Counter(offsets).items():
                if count > 1:
                    found["redelivered", group, partition, offset, count] += 1
            committed = [
                row["offset"] - 1
                for row in history.commits
                if row["reader"] in names
                and row["error"] is None
                and (row["topic"], row["partition"]) == (topic, partition)
            ]
            strict = any(reader.committed for reader in members)
            there = _held(history.committed if strict else history.reads, topic, partition)
            owed = _owed(history, members, given, topic, partition)
            asked = set(range(min([*offsets, *owed]), max([*offsets, *committed]) + 1))
            found.update(_runs("skipped", group, partition, (asked & there) - set(offsets)))
    return found


def _owed(
    history: History, members: Sequence[ReaderInfo], given: Sequence[Row], topic: str, partition: int
) -> list[int]:
    """The offsets that were sent and acknowledged after a group's first ownership of a partition, if it was
    reset to the end of the log afterwards."""
    names = {reader.name for reader in members}

    def mine(rows: Sequence[Row]) -> list[Row]:
        return [
            row
            for row in rows
            if row["reader"] in names and _at(row | {"offset": 0})[:2] == (topic, partition)
        ]

    owners = sorted(mine(history.owners), key=lambda row: (row["at_ns"], row["reader"]))
    begun = next((row for row in owners if row["event"] == "assigned"), None)
    if begun is None or {reader.reset for reader in members} != {"latest"}:
        return []
    ends = [
        row["at_ns"]
        for row in owners
        if row["event"] != "assigned" and row["reader"] == begun["reader"] and row["at_ns"] >= begun["at_ns"]
    ]
    given_ns = min(row["read_ns"] for row in mine(given))
    if not ends or any(row["at_ns"] < given_ns for row in mine(history.commits)):
        return []
    sent = [row for row in history.sends if (row["topic"], row["partition"]) == (topic, partition)]
    return [row["offset"] for row in sent if row["offset"] is not None and row["sent_ns"] > min(ends)]


def diverged(meta: RunMeta, history: History) -> set[tuple[int, int, tuple[int, ...]]]:
    """Partition, offset and brokers that differ there."""
    found = set()
    for bound in meta.final_read.bounds if meta.final_read else ():
        rows = [row for row in history.replicas if row["partition"] == bound.partition]
        rows = [row for row in rows if row["offset"] < bound.end_offset]
        logs: dict[int, dict[int, set[tuple[object, ...]]]] = {}
        for row in rows:
            content = tuple(
                row[name] for name in ("control", "state", "leader_epoch", "run", "producer", "seq", "crc")
            )
            logs.setdefault(row["broker"], {}).setdefault(row["offset"], set()).add(content)
        for offset in {row["offset"] for row in rows}:
            held = {broker: log[offset] for broker, log in logs.items() if offset in log}
            standard = max(held[bound.leader]) if bound.leader in held else None
            if standard is not None:
                brokers = {broker for broker, contents in held.items() if contents - {standard}}
                brokers |= {
                    broker
                    for broker, log in logs.items()
                    if offset not in log and min(log) < offset < max(log)
                }
            else:
                brokers = set(held) if len(set().union(*held.values())) > 1 else set()
            if brokers:
                found.add((bound.partition, offset, tuple(sorted(brokers))))
    return found


def _runs(finding: str, who: str, partition: int, offsets: set[int]) -> list[tuple[str, str, int, int, int]]:
    """One element a run of consecutive offsets: the first, and how many."""
    found = []
    for first in sorted(offset for offset in offsets if offset - 1 not in offsets):
        count = 1
        while first + count in offsets:
            count += 1
        found.append((finding, who, partition, first, count))
    return found


def _held(rows: list[Row], topic: str, partition: int) -> set[int]:
    return {row["offset"] for row in rows if _at(row)[:2] == (topic, partition)}


def _by_identity(rows: list[Row]) -> dict[Identity, list[Row]]:
    found: dict[Identity, list[Row]] = {}
    for row in rows:
        if row["state"] in ("ok", "foreign"):
            found.setdefault((row["run"], row["producer"], row["seq"]), []).append(row)
    return found


def _at(row: Row) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


def _expired(meta: RunMeta, send: Row, known: int | None) -> bool:
    final = meta.final_read
    # A record without an offset was in the old topic if it was acknowledged before there was a new one.
    then = send["sent_ns"] if known is not None else send["closed_ns"]
    if then is not None and any(one.before is None and then <= one.at_ns for one in meta.deletions):
        return True
    rule = retention(meta.topic_config, meta.cluster.properties)
    if final is None or known is None:
        return False
    starts = [item.log_start_offset for item in final.bounds if item.partition == send["partition"]]
    below = any(known < start for start in starts)
    if below and any(
        one.before is not None and known < one.before and one.partition in (None, send["partition"])
        for one in meta.deletions
    ):
        return True
    if not rule.deletes:
        return False
    old = rule.retention_ms >= 0 and send["sent_ns"] + rule.retention_ms * 10**6 <= (final.finished_ns or 0)
    return below and (rule.retention_bytes >= 0 or old)


def _compacted(meta: RunMeta, history: History, send: Row, known: int | None) -> bool:
    if not compacts(meta.topic_config, meta.cluster.properties) or known is None or send["key"] is None:
        return False
    where = (send["topic"], send["partition"], send["key"])
    return any(
        (row["topic"], row["partition"], row["key"]) == where and row["offset"] > known
        for row in history.reads
    )


def _place(meta: RunMeta, history: History, send: Row) -> str:
    where = (send["topic"], send["partition"], send["offset"])
    if any(_at(row) == where for row in history.reads):
        return "overwritten"
    bounds = meta.final_read.bounds if meta.final_read else ()
    ends = [item.end_offset for item in bounds if item.partition == send["partition"]]
    return "tail" if send["offset"] is not None and any(send["offset"] >= end for end in ends) else "unknown"


def _holds(row: Row, identity: Identity) -> bool:
    return row["state"] == "ok" and (row["run"], row["producer"], row["seq"]) == identity


def _windows(meta: RunMeta, send: Row, *, gone: bool) -> str:
    end = 2**63 if gone or send["closed_ns"] is None else send["closed_ns"]
    return " + ".join(
        item.name
        for item in meta.windows
        if item.opened_ns <= end and (item.closed_ns is None or item.closed_ns >= send["sent_ns"])
    )
