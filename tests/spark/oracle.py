"""The same classification in plain Python, record by record: slow, short, and easy to believe."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from checkers.policy import retention
from harness.model.run import RunMeta
from tests.spark.history import RUN, History, Row


class Told(NamedTuple):
    """What the oracle says of one record."""

    finding: str
    copies: int
    offsets: tuple[int, ...]
    place: str | None
    held_by: tuple[int, ...]
    windows: str


def classify(meta: RunMeta, history: History) -> dict[tuple[int, int, int], Told]:
    """Every record that has a finding, by run, producer and sequence."""
    sends = {(RUN, row["producer"], row["seq"]): row for row in history.sends}
    reads: dict[tuple[int, int, int], list[Row]] = {}
    for row in history.reads:
        if row["state"] in ("ok", "foreign"):
            reads.setdefault((row["run"], row["producer"], row["seq"]), []).append(row)
    told = {}
    for identity in sends.keys() | reads.keys():
        send, copies = sends.get(identity), reads.get(identity, [])
        finding = _finding(meta, send, copies)
        if finding is None:
            continue
        places = {(row["topic"], row["partition"], row["offset"]) for row in copies}
        lost = finding == "lost"
        told[identity] = Told(
            finding,
            len(places),
            tuple(sorted(offset for _, _, offset in places)[:5]),
            _place(meta, history, send) if lost and send else None,
            tuple(sorted({row["broker"] for row in history.replicas if _holds(row, identity)}))
            if lost
            else (),
            _windows(meta, send, lost) if send else "",
        )
    return told


def corrupt_values(history: History) -> Counter[tuple[int, int]]:
    """Values that do not check, by partition and offset."""
    bad = [row for row in history.reads if row["state"] in ("corrupt", "undecodable")]
    return Counter((row["partition"], row["offset"]) for row in bad)


def _finding(meta: RunMeta, send: Row | None, copies: list[Row]) -> str | None:
    if send is None:
        return "phantom"
    outcome = send["outcome"]
    if any((row["topic"], row["partition"]) != (send["topic"], send["partition"]) for row in copies):
        return "misplaced"
    if any(row["key"] != send["key"] for row in copies):
        return "corrupt"
    if copies and outcome == "rejected":
        return "rejected_present"
    if len({row["offset"] for row in copies}) > 1:
        return "duplicate"
    if copies:
        return "recovered" if outcome in ("indeterminate", "unconfirmed") else None
    if outcome == "acked":
        return "expired" if _expired(meta, send) else "lost"
    return "unconfirmed_absent" if outcome == "unconfirmed" else None


def _expired(meta: RunMeta, send: Row) -> bool:
    final = meta.final_read
    rule = retention(meta.topic_config, meta.cluster.properties)
    if final is None or not rule.deletes or send["offset"] is None:
        return False
    starts = [item.log_start_offset for item in final.bounds if item.partition == send["partition"]]
    old = rule.retention_ms >= 0 and send["sent_ns"] + rule.retention_ms * 10**6 <= (final.finished_ns or 0)
    return any(send["offset"] < start for start in starts) and (rule.retention_bytes >= 0 or old)


def _place(meta: RunMeta, history: History, send: Row) -> str:
    where = (send["topic"], send["partition"], send["offset"])
    if any((row["topic"], row["partition"], row["offset"]) == where for row in history.reads):
        return "overwritten"
    bounds = meta.final_read.bounds if meta.final_read else ()
    ends = [item.end_offset for item in bounds if item.partition == send["partition"]]
    return "tail" if send["offset"] is not None and any(send["offset"] >= end for end in ends) else "unknown"


def _holds(row: Row, identity: tuple[int, int, int]) -> bool:
    return row["state"] == "ok" and (row["run"], row["producer"], row["seq"]) == identity


def _windows(meta: RunMeta, send: Row, lost: bool) -> str:
    end = 2**63 if lost or send["closed_ns"] is None else send["closed_ns"]
    return " + ".join(
        item.name
        for item in meta.windows
        if item.opened_ns <= end and (item.closed_ns is None or item.closed_ns >= send["sent_ns"])
    )
