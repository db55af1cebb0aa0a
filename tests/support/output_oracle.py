"""The same classification of an application's outputs in plain Python, input by input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from checkers.judgement.policy import compacts, retention
from harness.model.run import ApplicationMeta, RunMeta
from tests.support.history import RUN, History, Row


class OutputFinding(NamedTuple):
    """What the oracle says of one input, or of one output that has none."""

    finding: str
    producer: int | None
    seq: int | None
    place: str | None
    copies: int
    offsets: tuple[int, ...]


Place = tuple[int, int]
"""Partition and offset."""


def outputs_of(meta: RunMeta, history: History) -> list[OutputFinding]:
    """All findings about the outputs of a history's inputs."""
    application = meta.application
    assert application is not None
    return sorted(
        [
            *_invented(application, history),
            *(found for send in history.sends for found in _of_input(meta, application, history, send)),
            *_reordered(meta, application, history),
        ],
        key=str,
    )


def unnamed(meta: RunMeta, *histories: History) -> bool:
    """Whether no output of a run with these histories carries an identity, so that nothing is known of it."""
    assert meta.application is not None
    states = {row["state"] for one in histories for row in _visible(meta.application, one)}
    return bool(states) and states <= {"undecodable", "unmapped"}


def counted(meta: RunMeta, history: History) -> tuple[int, int]:
    """The number of inputs that the application had to process, and of those that it processed."""
    application = meta.application
    assert application is not None
    wanted = [send for send in history.sends if _expected(meta, history, send)]
    enough = [
        send for send in wanted if len(_outputs(application, history, send)) >= application.outputs_per_input
    ]
    return len(wanted), len(enough)


def _visible(application: ApplicationMeta, history: History) -> Iterator[Row]:
    for row in history.outputs:
        if row["committed"] or application.guarantee != "exactly-once":
            yield row


def _invented(application: ApplicationMeta, history: History) -> Iterator[OutputFinding]:
    sent = {(row["producer"], row["seq"]) for row in history.sends}
    for row in _visible(application, history):
        place = None
        if row["state"] != "ok":
            place = row["state"]
        elif row["run"] != RUN or (row["producer"], row["seq"]) not in sent:
            place = "never sent"
        if place is not None:
            yield OutputFinding("invented", row["producer"], row["seq"], place, 1, (row["offset"],))


def _outputs(application: ApplicationMeta, history: History, send: Row) -> set[Place]:
    return {
        (row["partition"], row["offset"])
        for row in _visible(application, history)
        if row["state"] == "ok" and _same(row, send)
    }


def _same(row: Row, send: Row) -> bool:
    return bool((row["run"], row["producer"], row["seq"]) == (RUN, send["producer"], send["seq"]))


def _copies(rows: list[Row], send: Row) -> set[Place]:
    return {
        (row["partition"], row["offset"])
        for row in rows
        if row["state"] in ("ok", "foreign") and _same(row, send)
    }


def _txn_outcome(history: History, send: Row) -> str | None:
    words = [
        row["outcome"]
        for row in history.txns
        if (row["producer"], row["txn"]) == (send["producer"], send["txn"])
    ]
    return words[0] if words else None


def _given_to_all(meta: RunMeta, history: History, send: Row) -> bool:
    return not meta.transactional or send["txn"] is None or bool(_copies(history.committed, send))


def _aborted(meta: RunMeta, history: History, send: Row) -> bool:
    return not _given_to_all(meta, history, send) and _txn_outcome(history, send) != "committed"


def _old(meta: RunMeta, send: Row) -> bool:
    rule, final = retention(meta.topic_config, meta.cluster.properties), meta.final_read
    if not rule.deletes or final is None:
        return False
    by_age = rule.retention_ms >= 0 and send["sent_ns"] + rule.retention_ms * 10**6 <= (
        final.finished_ns or 0
    )
    return rule.retention_bytes >= 0 or by_age


def _below_start(meta: RunMeta, send: Row) -> bool:
    starts = [
        bound.log_start_offset
        for bound in (meta.final_read.bounds if meta.final_read else ())
        if (bound.topic, bound.partition) == (send["topic"], send["partition"])
    ]
    return send["offset"] is not None and any(send["offset"] < start for start in starts)


def _expired(meta: RunMeta, history: History, send: Row) -> bool:
    """Acknowledged, and deleted by retention; not of a transaction that was aborted."""
    counts = send["txn"] is None or _txn_outcome(history, send) == "committed"
    gone = not _copies(history.reads, send) and _old(meta, send) and _below_start(meta, send)
    return gone and send["outcome"] == "acked" and counts


def _by_policy(meta: RunMeta, send: Row) -> bool:
    """Whether a policy may have removed an absent input."""
    compacted = compacts(meta.topic_config, meta.cluster.properties) and send["key"] is not None
    return compacted or (_old(meta, send) and (send["offset"] is None or _below_start(meta, send)))


def _expected(meta: RunMeta, history: History, send: Row) -> bool:
    there = bool(_copies(history.reads, send)) and _given_to_all(meta, history, send)
    return there or _expired(meta, history, send)


def _of_input(
    meta: RunMeta, application: ApplicationMeta, history: History, send: Row
) -> Iterator[OutputFinding]:
    outputs, copies = _outputs(application, history, send), _copies(history.reads, send)
    shown = tuple(sorted(offset for _, offset in outputs)[:5])

    def found(finding: str, place: str | None) -> OutputFinding:
        return OutputFinding(finding, send["producer"], send["seq"], place, len(outputs), shown)

    aborted = bool(copies) and _aborted(meta, history, send)
    early = aborted or (not copies and not _by_policy(meta, send))
    if outputs and early:
        yield found("premature", "aborted" if aborted else "not in the log")
    elif _expected(meta, history, send) and len(outputs) < application.outputs_per_input:
        if application.drained and application.read_complete:
            yield found("unprocessed", None if copies else "expired")
    elif not early and len(outputs) > application.outputs_per_input * max(1, len(copies)):
        yield found("reprocessed", None)


def _reordered(meta: RunMeta, application: ApplicationMeta, history: History) -> Iterator[OutputFinding]:
    """First outputs that stand after that of a later input of the same partition (and key)."""
    if application.order == "none":
        return
    placed = []
    for send in history.sends:
        copies = _copies(history.reads, send)
        place = min(copies) if copies else None
        if place is None and _expired(meta, history, send):
            place = (send["partition"], send["offset"])
        if place is None or (application.order == "key" and send["key"] is None):
            continue
        key = send["key"] if application.order == "key" else None
        firsts: dict[int, int] = {}
        for partition, offset in _outputs(application, history, send):
            firsts[partition] = min(offset, firsts.get(partition, offset))
        placed += [
            ((place[0], key, partition), place[1], offset, send) for partition, offset in firsts.items()
        ]
    for group, place_in, place_out, send in placed:
        if any(
            group == other and at_in > place_in and at_out < place_out for other, at_in, at_out, _ in placed
        ):
            yield OutputFinding("reordered_output", send["producer"], send["seq"], None, 1, (place_out,))
