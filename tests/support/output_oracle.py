"""The same classification of an application's outputs in plain Python, input by input."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from checkers.judgement.policy import compacts, retention
from harness.model.application_meta import ApplicationMeta
from harness.model.run import RunMeta
from tests.support.history import RUN, History, Row
from tests.support.oracle import time_in_log


class OutputFinding(NamedTuple):
    """What the oracle says of one input, or of one output that has none."""

    finding: str
    producer: int | None
    seq: int | None
    place: str | None
    copies: int
    offsets: tuple[int, ...]
    faults: str | None = None
    """Those that may explain it; None: the oracle does not say (of other classes than two)."""


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
    age_ns = (final.finished_ns or 0) - time_in_log(meta, send)
    by_age = rule.retention_ms >= 0 and rule.retention_ms * 10**6 <= age_ns
    return rule.retention_bytes >= 0 or by_age


def _below_start(meta: RunMeta, send: Row) -> bool:
    starts = [
        bound.log_start_offset
        for bound in (meta.final_read.bounds if meta.final_read else ())
        if (bound.topic, bound.partition) == (send["topic"], send["partition"])
    ]
    return send["offset"] is not None and any(send["offset"] < start for start in starts)


def _of_deleted_topic(meta: RunMeta, send: Row) -> bool:
    """Whether the topic was deleted and created again after the send."""
    return any(one.before is None and send["sent_ns"] <= one.at_ns for one in meta.deletions)


def _deleted(meta: RunMeta, send: Row) -> bool:
    """Whether an absent input with this offset may have been deleted, by retention or with its topic."""
    of_old = send["offset"] is not None and _of_deleted_topic(meta, send)
    return of_old or (_old(meta, send) and _below_start(meta, send))


def _expired(meta: RunMeta, history: History, send: Row) -> bool:
    """Acknowledged, and deleted; not of a transaction that was aborted."""
    counts = send["txn"] is None or _txn_outcome(history, send) == "committed"
    gone = not _copies(history.reads, send) and _deleted(meta, send)
    return gone and send["outcome"] == "acked" and counts


def _by_policy(meta: RunMeta, send: Row) -> bool:
    """Whether a policy may have removed an absent input."""
    compacted = compacts(meta.topic_config, meta.cluster.properties) and send["key"] is not None
    unclear = send["offset"] is None and (_old(meta, send) or _of_deleted_topic(meta, send))
    return compacted or unclear or _deleted(meta, send)


def _expected(meta: RunMeta, history: History, send: Row) -> bool:
    there = bool(_copies(history.reads, send)) and _given_to_all(meta, history, send)
    return there or _expired(meta, history, send)


def _of_input(
    meta: RunMeta, application: ApplicationMeta, history: History, send: Row
) -> Iterator[OutputFinding]:
    outputs, copies = _outputs(application, history, send), _copies(history.reads, send)
    shown = tuple(sorted(offset for _, offset in outputs)[:5])

    def found(finding: str, place: str | None, faults: str | None = None) -> OutputFinding:
        return OutputFinding(finding, send["producer"], send["seq"], place, len(outputs), shown, faults)

    aborted = bool(copies) and _aborted(meta, history, send)
    early = aborted or (not copies and not _by_policy(meta, send))
    if outputs and early:
        yield found("premature", "aborted" if aborted else "not in the log")
    elif _expected(meta, history, send) and len(outputs) < application.outputs_per_input:
        if application.drained and application.read_complete:
            faults = _open(meta, *_passed(meta, application, history, send))
            yield found("unprocessed", None if copies else "expired", faults)
    elif not early and len(outputs) > application.outputs_per_input * max(1, len(copies)):
        yield found("reprocessed", None, _open(meta, *_between_outputs(meta, application, history, send)))


Span = tuple[float, float]
"""Two times in ns, without an end infinite."""


def _open(meta: RunMeta, begin: float, until: float) -> str:
    """The faults that were open at any time of a span."""
    return " + ".join(
        one.name
        for one in meta.windows
        if one.opened_ns <= until and (one.closed_ns is None or begin <= one.closed_ns)
    )


def _time(application: ApplicationMeta, history: History, send: Row, place: Place) -> int | None:
    """The time of an output in ms: the earliest that the journal has; None: one of its rows has none."""
    found = [
        row["timestamp_ms"]
        for row in _visible(application, history)
        if row["state"] == "ok" and _same(row, send) and (row["partition"], row["offset"]) == place
    ]
    return None if None in found else min(found)


def _times_say_nothing(meta: RunMeta, application: ApplicationMeta) -> bool:
    return application.output_times != "broker" or any(one.kind == "clock_skew" for one in meta.windows)


def _between_outputs(meta: RunMeta, application: ApplicationMeta, history: History, send: Row) -> Span:
    """From the first to the last output; a time that is not known may be any since the send."""
    if _times_say_nothing(meta, application):
        return send["sent_ns"], inf
    times = [_time(application, history, send, place) for place in _outputs(application, history, send)]
    known = [one for one in times if one is not None]
    until = max(known) * 10**6 + 999_999 if known else inf
    begin = send["sent_ns"] if None in times else max(send["sent_ns"], min(known) * 10**6)
    return begin, until if until >= send["sent_ns"] else inf


def _passed(meta: RunMeta, application: ApplicationMeta, history: History, send: Row) -> Span:
    """When the application passed over an input, by what stands around it in each partition of the output."""
    ever, place = (send["sent_ns"], inf), _place(meta, history, send)
    if place is None or _times_say_nothing(meta, application):
        return ever
    spans = []
    for partition in {row["partition"] for row in _visible(application, history)}:
        firsts = _firsts(meta, application, history, place[0], partition)
        if firsts:
            spans.append(_around(meta, firsts, place[1]))
    if not spans:
        return ever
    begin, until = min(one for one, _ in spans), max(one for _, one in spans)
    return ever if until < send["sent_ns"] else (max(send["sent_ns"], begin), until)


First = tuple[int, int, int | None]
"""Of an input and a partition of the output: the input's offset, and offset and time of its first output."""


def _firsts(
    meta: RunMeta, application: ApplicationMeta, history: History, of_input: int, of_output: int
) -> list[First]:
    firsts = []
    for send in history.sends:
        place = _place(meta, history, send)
        outputs = [one for one in _outputs(application, history, send) if one[0] == of_output]
        if place is not None and place[0] == of_input and outputs:
            first = min(outputs)
            firsts.append((place[1], first[1], _time(application, history, send, first)))
    return firsts


def _around(meta: RunMeta, firsts: list[First], offset: int) -> Span:
    """Between which times an input at this offset was passed over, by these outputs."""
    for at_in, at_out, ms in firsts:
        late = any(other_in < at_in and other_out > at_out for other_in, other_out, _ in firsts)
        if late and (ms is None or not _open(meta, ms * 10**6 + 999_999, ms * 10**6 + 999_999)):
            return -inf, inf
    before = [ms for at_in, _, ms in firsts if at_in <= offset and ms is not None]
    after = [ms for at_in, _, ms in firsts if at_in > offset and ms is not None]
    if before and after:
        begin, until = sorted((max(before), min(after)))
    else:
        begin, until = max(before, default=None), min(after, default=None)
    return (
        -inf if begin is None else begin * 10**6,
        inf if until is None else until * 10**6 + 999_999,
    )


def _place(meta: RunMeta, history: History, send: Row) -> Place | None:
    """Where an input is or was in the log, if its offset can be compared with those of others."""
    copies = _copies(history.reads, send)
    if copies:
        return min(copies)
    # Offsets of a topic that was created again begin anew.
    if not _of_deleted_topic(meta, send) and _expired(meta, history, send):
        return send["partition"], send["offset"]
    return None


def _reordered(meta: RunMeta, application: ApplicationMeta, history: History) -> Iterator[OutputFinding]:
    """First outputs that stand after that of a later input of the same partition (and key)."""
    if application.order == "none":
        return
    placed = []
    for send in history.sends:
        place = _place(meta, history, send)
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
