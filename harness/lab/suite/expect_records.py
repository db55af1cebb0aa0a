"""Expectations on records: how many were acknowledged, refused or lost, their order in the log, and which of
them live readers received while faults were active."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from operator import itemgetter

from harness.lab.suite.expectations import Expectation, between, exactly, format_value
from harness.lab.suite.run_evidence import SECOND, EvidenceMissing, FinishedRun, required
from harness.model.finding_class import FindingClass
from harness.model.group_journal import COMMITS_DIR
from harness.model.journal import LIVE_DIR, SendOutcome
from harness.model.journal_reader import JournalRow

_DELIVERY = itemgetter("partition", "offset", "producer", "seq")


def acked(step: str, count: int) -> Expectation:
    """The number of sends of a write step that were acknowledged, however late."""
    return exactly(f"acked in {step}", count, lambda run: run.summary.acked_by_step.get(step, 0))


def acked_during(step: str, count: int) -> Expectation:
    """The number of sends of a write step that were acknowledged before the step ended."""
    return exactly(f"acked during {step}", count, lambda run: sum(ok for _, ok in _in_time(run, step)))


def _in_time(run: FinishedRun, step: str) -> Iterator[tuple[int, bool]]:
    """The partition of each send of a write step, and whether it was acknowledged before the step ended."""
    end = run.step(step).ended_ns or 0
    for row in run.sends(step):
        yield row["partition"], row["outcome"] == SendOutcome.ACKED and (row["closed_ns"] or end + 1) <= end


def writers(step: str, producers: frozenset[int]) -> Expectation:
    """The producers of which records of a step were acknowledged."""
    what = f"producers with acked records in {step}"
    done = SendOutcome.ACKED
    return exactly(
        what, producers, lambda run: {row["producer"] for row in run.sends(step) if row["outcome"] == done}
    )


def outcomes(step: str, counts: dict[SendOutcome, int]) -> Expectation:
    """The number of sends of a write step by outcome."""
    return exactly(f"sends of {step}", counts, lambda run: _tally(row["outcome"] for row in run.sends(step)))


def errors(step: str, counts: dict[str, int]) -> Expectation:
    """The number of sends of a write step by the client's error; sends without an error are not counted."""
    return exactly(f"errors in {step}", counts, lambda run: _errors(run, step))


def _errors(run: FinishedRun, step: str) -> dict[str, int]:
    return _tally(row["error"] for row in run.sends(step) if row["error"] is not None)


def errors_among(step: str, count: int, allowed: frozenset[str]) -> Expectation:
    """The number of sends of a write step that failed, each with one of these errors."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        counts = _errors(run, step)
        return format_value(counts), sum(counts.values()) == count and set(counts) <= allowed

    return Expectation(f"errors in {step}", f"{count:,} times {' or '.join(sorted(allowed))}", look)


def _tally(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def lost(count: int, of: int | None = None) -> Expectation:
    """The number of acknowledged records that are lost, of `of` in all (None: not stated)."""
    what = "acked records lost" if of is None else f"of {of:,} acked records lost"
    return exactly(what, count, lambda run: run.count(FindingClass.LOST))


def findings(
    finding: FindingClass, count: int | None = None, least: int | None = None, most: int | None = None
) -> Expectation:
    """The number of findings of a class: `count`, or at least `least` and at most `most` (None: no limit)."""
    what = finding.value.replace("_", " ")
    if least is not None and count is None:
        return between(what, least, most, lambda run: run.count(finding))
    if count is None or most is not None or least is not None:
        raise ValueError("findings have a `count`, or `least` and maybe `most`")
    return exactly(what, count, lambda run: run.count(finding))


def duplicates(count: int) -> Expectation:
    """The number of records that are in the log more than once."""
    return findings(FindingClass.DUPLICATE, count)


def in_log(step: str, count: int) -> Expectation:
    """The number of records of a write step in the log at the end; copies are counted once."""

    def of(run: FinishedRun) -> int:
        written = {(row["producer"], row["seq"]) for row in run.sends(step)}
        return len(written & {(row["producer"], row["seq"]) for row in run.final_log})

    return exactly(f"records of {step} in the log", count, of)


def in_partitions(partitions: tuple[int, ...], count: int) -> Expectation:
    """Each of these partitions holds this number of records at the end."""

    def of(run: FinishedRun) -> dict[int, int]:
        return {number: sum(row["partition"] == number for row in run.final_log) for number in partitions}

    return exactly("records by partition", dict.fromkeys(partitions, count), of)


def unavailable() -> Expectation:
    """How long some partition accepted no writes, by the check; at most 600 s."""

    def of(run: FinishedRun) -> float:
        if run.summary.unavailable_seconds is None:
            raise EvidenceMissing("not known")
        return run.summary.unavailable_seconds

    return between("unavailable for", 0, 600, of, "s")


def log_content(messages: str) -> Expectation:
    """The whole log in order; the n-th record that was sent is called Mn."""

    def of(run: FinishedRun) -> str:
        return " ".join("?" if row["seq"] is None else f"M{row['seq'] + 1}" for row in run.final_log)

    return exactly("the log", messages, of)


def longest_stall(step: str, least: float, most: float | None = None) -> Expectation:
    """The longest time without an acknowledgement in a write step, in seconds, up to the last one."""
    return between(f"longest wait for an ack in {step}", least, most, lambda run: _stall(run, step), "s")


def _stall(run: FinishedRun, step: str) -> float:
    return max((late - early for early, late in pairwise([0, *_acks(run, step)])), default=0) / SECOND


def _acks(run: FinishedRun, step: str) -> list[int]:
    """When sends of a write step were acknowledged: nanoseconds since it began, in order."""
    begun = run.step(step).started_ns
    acks = (row["closed_ns"] for row in run.sends(step) if row["outcome"] == SendOutcome.ACKED)
    return sorted(at_ns - begun for at_ns in acks)


def acks_curve(run: FinishedRun, step: str, bucket: float = 0.25) -> tuple[tuple[float, float], ...]:
    """Acknowledged records per second, by seconds since a write step began; () if there were none."""
    try:
        counted = Counter(int(after_ns / SECOND / bucket) for after_ns in _acks(run, step))
    except EvidenceMissing:
        return ()
    return tuple(
        (round(number * bucket, 2), counted[number] / bucket)
        for number in range(max(counted, default=-1) + 1)
    )


def stall_as_long_as(step: str, kind: str) -> Expectation:
    """Acknowledgements stopped for about as long as a fault was active, plus the wait of TCP before its next
    retransmission, which doubles each time."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        there = (run.undone_ns(kind) - run.applied_ns(kind)) / SECOND
        # It had its effect at some time between its aim and the end of its injection.
        longest = (run.undone_ns(kind) - run.aimed_ns(kind)) / SECOND
        waited = _stall(run, step)
        return f"{waited:.1f} s, {kind} for {there:.1f} s", there / 2 <= waited <= 2 * longest + 2

    return Expectation(f"longest wait for an ack in {step}", f"about as long as the {kind}", look)


def slowest_ack(
    step: str, least: float, most: float | None = None, partition: int | None = None
) -> Expectation:
    """The longest time from a send of a write step to its acknowledgement, in seconds."""
    what = f"slowest ack in {step}" + ("" if partition is None else f", partition {partition}")
    return between(what, least, most, lambda run: _slowest(run, step, partition), "s")


def _slowest(run: FinishedRun, step: str, partition: int | None) -> float:
    waits = (
        row["closed_ns"] - row["sent_ns"]
        for row in run.sends(step)
        if row["outcome"] == SendOutcome.ACKED and partition in (None, row["partition"])
    )
    return max(waits, default=0) / SECOND


def acked_alone(step: str, partition: int, least: float = 0, most: float | None = None) -> Expectation:
    """The longest time, in seconds, in which only records of this partition were acknowledged: from the first
    to the last of them between two acknowledgements of other partitions. A machine that stands still holds
    all of them up alike, which adds nothing."""

    def of(run: FinishedRun) -> float:
        acks = sorted(
            (row["closed_ns"], row["partition"])
            for row in run.sends(step)
            if row["outcome"] == SendOutcome.ACKED
        )
        stretches = (
            [at_ns for at_ns, _ in group]
            for number, group in groupby(acks, itemgetter(1))
            if number == partition
        )
        return max((stretch[-1] - stretch[0] for stretch in stretches), default=0) / SECOND

    return between(f"only partition {partition} is acked in {step} for", least, most, of, "s")


def refused_partitions(step: str, partitions: frozenset[int]) -> Expectation:
    """The partitions with a send of a write step that was not acknowledged before the step ended."""
    what = f"partitions that did not accept all of {step}"
    return exactly(what, partitions, lambda run: {number for number, ok in _in_time(run, step) if not ok})


def received_and_gone(reader: str, count: int) -> Expectation:
    """The number of records that a live reader received and that are not in the log at the end at that
    offset."""

    def of(run: FinishedRun) -> int:
        log = set(map(_DELIVERY, run.final_log))
        return sum(_DELIVERY(row) not in log for row in _received(run, reader))

    return exactly(f"records that consumer {reader} received and that are gone", count, of)


def went_back(reader: str, times: int) -> Expectation:
    """The number of times that a live reader received an offset that is not above the previous one."""

    def of(run: FinishedRun) -> int:
        offsets = [row["offset"] for row in _received(run, reader) if row["partition"] == 0]
        return sum(late <= early for early, late in pairwise(offsets))

    return exactly(f"times that consumer {reader} went back", times, of)


def received(reader: str, count: int) -> Expectation:
    """The number of records that a live reader received."""
    return exactly(f"records that consumer {reader} received", count, lambda run: len(_received(run, reader)))


def committed(reader: str, session: int, offset: int) -> Expectation:
    """The last offset of partition 0 that a live reader has committed in one of its sessions."""

    def of(run: FinishedRun) -> int:
        offsets = [
            row["offset"]
            for row in run.rows(COMMITS_DIR)
            if (row["reader"], row["session"], row["partition"], row["error"]) == (reader, session, 0, None)
        ]
        missing = f"consumer {reader} has committed nothing in session {session}"
        return int(required(offsets, missing)[-1])

    return exactly(f"last commit of consumer {reader} in session {session}", offset, of)


def _received(run: FinishedRun, reader: str) -> list[JournalRow]:
    required(reader in {known.name for known in run.meta.readers}, f"there was no consumer {reader}")
    return sorted(run.rows(f"{LIVE_DIR}/{reader}"), key=lambda row: row["position"])
