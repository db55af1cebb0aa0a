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
    of_old = any((send["closed_ns"] or 2**63) <= at for at in _recreated(meta))
    if copies and outcome == "acked" and not of_old and offset not in here and (*where, offset) in others:
        return "inconsistent_offset", None
    gone = outcome == "acked" and not copies
    last = len(_recreated(meta))
    of_this_topic = [row for row in live if incarnation(meta, history, row) == last]
    if not gone and any(row["offset"] not in here and _at(row) in others for row in of_this_topic):
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


def indeterminate_present(history: History) -> int:
    """The number of sends whose client does not know their end, and that the log holds."""
    final = _by_identity(history.reads)
    return sum(
        row["outcome"] == "indeterminate" and (RUN, row["producer"], row["seq"]) in final
        for row in history.sends
    )


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


def _recreated(meta: RunMeta) -> list[int]:
    """When the topic was deleted and created again."""
    return sorted(one.at_ns for one in meta.deletions if one.before is None and one.topic == meta.topic)


def incarnation(meta: RunMeta, history: History, row: Row) -> int:
    """Of which topic of this name a live reader was given a record: 0 is the first one. What the final read
    holds at the same place is of the last; of another the time of the send tells it."""
    times = _recreated(meta)
    if row["topic"] != meta.topic or not times:
        return len(times)
    known = row["state"] in ("ok", "foreign")
    identity = (row["run"], row["producer"], row["seq"])
    there = _by_identity([one for one in history.reads if _at(one) == _at(row)])
    if known and identity in there:
        return len(times)
    sent = [one["sent_ns"] for one in history.sends if (RUN, one["producer"], one["seq"]) == identity]
    then = sent[0] if sent and known else row["read_ns"]
    return sum(at < min(then, row["read_ns"]) for at in times)


def deliveries(meta: RunMeta, history: History) -> Counter[tuple[str, str, int, int, int]]:
    """What readers were given wrongly: class, reader or group, partition, offset, count."""
    found: Counter[tuple[str, str, int, int, int]] = Counter()
    last = len(_recreated(meta))
    live = [row | {"of": incarnation(meta, history, row)} for row in history.live]
    for reader in meta.readers:
        given = [row for row in live if row["reader"] == reader.name]
        read = history.committed if reader.committed else history.reads
        for session, place in {(row["session"], _topic_of(row)) for row in given}:
            rows = [row for row in given if (row["session"], _topic_of(row)) == (session, place)]
            rows.sort(key=lambda row: row["position"])
            topic, partition, of = place
            there = _held(read, topic, partition) if of == last else set()
            for before, after in pairwise(rows):
                if after["offset"] <= before["offset"]:
                    found["nonmonotonic_read", reader.name, partition, after["offset"], 1] += 1
                if reader.group is None:
                    between = set(range(before["offset"] + 1, after["offset"])) & there
                    found.update(_runs("skipped", reader.name, partition, between))
        if reader.group is None and _read_before(meta, history, [reader], given):
            for topic, partition, of in {_topic_of(row) for row in given}:
                rows = [row for row in given if _topic_of(row) == (topic, partition, of)]
                if topic == meta.topic and of == last:
                    missed = set(range(min(row["offset"] for row in rows))) & _held(read, topic, partition)
                    found.update(_runs("skipped", reader.name, partition, missed))
    for group in {reader.group for reader in meta.readers if reader.group is not None}:
        members = [reader for reader in meta.readers if reader.group == group]
        names = {reader.name for reader in members}
        given = [row for row in live if row["reader"] in names]
        places = {
            (*_at(row)[:2], last) for row in [*history.owners, *history.commits] if row["reader"] in names
        }
        for place in {_topic_of(row) for row in given} | places:
            found += _of_group(meta, history, members, given, place)
    return found


def _topic_of(row: Row) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["of"]


def _read_before(
    meta: RunMeta, history: History, members: Sequence[ReaderInfo], given: Sequence[Row]
) -> bool:
    """Whether a reader or group read the topic, or had partitions of it, before it was created again."""
    times, names = _recreated(meta), {reader.name for reader in members}
    assigned = [row for row in history.owners if row["reader"] in names and row["event"] == "assigned"]
    return bool(times) and (
        any(row["topic"] == meta.topic and row["of"] < len(times) for row in given)
        or any(row["topic"] == meta.topic and row["at_ns"] <= times[-1] for row in assigned)
    )


def _of_group(
    meta: RunMeta,
    history: History,
    members: Sequence[ReaderInfo],
    given: Sequence[Row],
    place: tuple[str, int, int],
) -> Counter[tuple[str, str, int, int, int]]:
    """What a group was given again, or passed over, of a partition of one topic."""
    found: Counter[tuple[str, str, int, int, int]] = Counter()
    topic, partition, of = place
    group, names = str(members[0].group), {reader.name for reader in members}
    times = _recreated(meta) if topic == meta.topic else []
    mine = [row for row in given if _topic_of(row) == place]
    offsets = [row["offset"] for row in mine]
    for offset, count in Counter(offsets).items():
        if count > 1:
            found["redelivered", group, partition, offset, count] += 1
    if of < len(times):
        # The final read holds nothing of a topic that was deleted.
        return found
    since = max([*times, *([min(row["read_ns"] for row in mine)] if mine and times else [])], default=0)
    committed = [
        row["offset"] - 1
        for row in history.commits
        if row["reader"] in names
        and row["error"] is None
        and (row["topic"], row["partition"]) == (topic, partition)
        and (not times or row["at_ns"] >= since)
    ]
    strict = any(reader.committed for reader in members)
    there = _held(history.committed if strict else history.reads, topic, partition)
    if times and _read_before(meta, history, members, given):
        bounds = meta.final_read.bounds if meta.final_read else ()
        ends = [one.end_offset for one in bounds if (one.topic, one.partition) == (topic, partition)]
        passed = [one for one in committed if ends and 0 <= one < ends[0]]
        least, owed = 0, [] if offsets else passed
        committed = committed if offsets else passed
    else:
        # What was before the topic was created again says nothing about this one.
        here = History(
            sends=[row for row in history.sends if not times or row["sent_ns"] > times[-1]],
            owners=[row for row in history.owners if not times or row["at_ns"] > times[-1]],
            commits=[row for row in history.commits if not times or row["at_ns"] > times[-1]],
            answers=[row for row in history.answers if not times or row["asked_ns"] > times[-1]],
        )
        passed = _written_before_it_knew(meta, here, members, topic, partition)
        passed = passed or _committed_first(here, members, mine, topic, partition)
        owed = _owed(here, members, mine, topic, partition) if offsets else passed
        least = min([*offsets, *owed, *([0] if passed else [])], default=0)
        committed = committed if offsets or passed else []
    if offsets or owed:
        asked = set(range(least, max([*(offsets or owed), *committed]) + 1))
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


def _committed_first(
    history: History, members: Sequence[ReaderInfo], given: Sequence[Row], topic: str, partition: int
) -> list[int]:
    """The offsets that a group had committed before it was given its first record, if it began at the first
    one."""
    if {reader.reset for reader in members} != {"earliest"}:
        return []
    names = {reader.name for reader in members}
    commits = [
        row
        for row in history.commits
        if row["reader"] in names
        and row["error"] is None
        and (row["topic"], row["partition"]) == (topic, partition)
    ]
    if not commits:
        return []
    first = min(row["at_ns"] for row in commits)
    answers = [
        row["offset"]
        for row in history.answers
        if row["group"] == members[0].group
        and (row["topic"], row["partition"]) == (topic, partition)
        and row["at_ns"] < first
    ]
    if not answers or any(offset is not None for offset in answers):
        return []
    if given and first >= min(row["read_ns"] for row in given):
        return []
    return list(range(max(row["offset"] for row in commits)))


def _written_before_it_knew(
    meta: RunMeta, history: History, members: Sequence[ReaderInfo], topic: str, partition: int
) -> list[int]:
    """The offsets that were acknowledged in a partition that was added while a group read the others, before
    one of its members was assigned it: the group, which had no offset of it, began at its end."""
    names = {reader.name for reader in members}
    owners = [row for row in history.owners if row["reader"] in names and row["event"] == "assigned"]
    known = [row["at_ns"] for row in owners if (row["topic"], row["partition"]) == (topic, partition)]
    sent = [row for row in history.sends if (row["topic"], row["partition"]) == (topic, partition)]
    at_start = meta.partitions if meta.partitions_at_start is None else meta.partitions_at_start
    if partition < at_start or not known or not sent:
        return []
    if {reader.reset for reader in members} != {"latest"}:
        return []
    begun = min(row["at_ns"] for row in owners if row["topic"] == topic)
    additions = [one.opened_ns for one in meta.windows if one.kind == "add_partitions"]
    if begun >= min(row["sent_ns"] for row in sent) or (additions and begun >= max(additions)):
        return []
    commits = [
        row
        for row in history.commits
        if row["reader"] in names and (row["topic"], row["partition"]) == (topic, partition)
    ]
    if any(row["at_ns"] < min(known) for row in commits):
        return []
    return [
        row["offset"]
        for row in sent
        if row["offset"] is not None and row["closed_ns"] is not None and row["closed_ns"] < min(known)
    ]


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
    age_ns = (final.finished_ns or 0) - time_in_log(meta, send)
    old = rule.retention_ms >= 0 and rule.retention_ms * 10**6 <= age_ns
    return below and (rule.retention_bytes >= 0 or old)


def time_in_log(meta: RunMeta, send: Row) -> int:
    """The time (ns) by which brokers tell the age of a record."""
    brokers = meta.cluster.properties.get("log.message.timestamp.type", "CreateTime")
    given: int | None = send["timestamp_ms"]
    if meta.topic_config.get("message.timestamp.type", brokers) == "LogAppendTime":
        given = None
    sent: int = send["sent_ns"]
    return sent if given is None or given < 0 else given * 10**6


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
