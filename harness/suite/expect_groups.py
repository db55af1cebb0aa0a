"""Expectations on groups: members, commits, transactions, committed offsets, deliveries to share groups."""

from __future__ import annotations

from collections import Counter

from harness.model.journal import TxnOutcome
from harness.suite.expectations import Expectation, between, exactly, format_value
from harness.suite.run_evidence import SECOND, EvidenceMissing, FinishedRun


def commits_answered(step: str, least: int, most: int | None = None) -> Expectation:
    """The number of groups of a step `commit_offsets` whose commit was answered without an error (`most`
    None: exactly `least`)."""

    def of(run: FinishedRun) -> int:
        mine = [row for row in run.commits if row["reader"].rpartition("-")[0] == step]
        if not mine:
            raise EvidenceMissing(f"no commits of step {step} were journaled")
        return len({row["reader"] for row in mine if row["error"] is None})

    return between(f"commits of {step} answered as done", least, least if most is None else most, of)


def moved(reader: str, step: str, least: int, most: int | None = None) -> Expectation:
    """The number of partitions that were taken from a live reader after a step began and before the last step
    ended (`most` None: exactly `least`)."""

    def of(run: FinishedRun) -> int:
        ended = run.meta.steps[-1].ended_ns or 0
        rows = [row for row in run.assignments if row["reader"] == reader]
        if not any(row["event"] == "assigned" for row in rows):
            raise EvidenceMissing(f"consumer {reader} was never assigned a partition")
        since = run.step(step).started_ns
        taken = [row for row in rows if row["event"] != "assigned" and since <= row["at_ns"] <= ended]
        return len({row["partition"] for row in taken})

    return between(f"partitions taken from consumer {reader}", least, least if most is None else most, of)


def owned(reader: str, step: str, least: int, most: int | None = None) -> Expectation:
    """The number of partitions that a live reader was assigned after a step began and before the last step
    ended (`most` None: exactly `least`)."""

    def of(run: FinishedRun) -> int:
        ended = run.meta.steps[-1].ended_ns or 0
        since = run.step(step).started_ns
        return len(
            {
                row["partition"]
                for row in run.assignments
                if row["reader"] == reader and row["event"] == "assigned" and since <= row["at_ns"] <= ended
            }
        )

    what = f"partitions that consumer {reader} was assigned in {step} or later"
    return between(what, least, least if most is None else most, of)


def handover(reader: str, step: str, *, least: float, most: float) -> Expectation:
    """How many seconds after the beginning of a step a live reader was next assigned a partition."""

    def of(run: FinishedRun) -> float:
        since = run.step(step).started_ns
        times = [
            row["at_ns"]
            for row in run.assignments
            if (row["reader"], row["event"]) == (reader, "assigned") and row["at_ns"] >= since
        ]
        if not times:
            raise EvidenceMissing(f"consumer {reader} was assigned nothing after {step} had begun")
        return float(min(times) - since) / SECOND

    return between(f"consumer {reader} was assigned more after", least, most, of, "s")


def last_answer(group: str, offset: int | None = None) -> Expectation:
    """The committed offset of partition 0 by the coordinator's last answer about a group (None: it has
    none)."""

    def of(run: FinishedRun) -> object:
        rows = [
            row
            for row in run.offsets
            if (row["group"], row["partition"], row["source"], row["error"]) == (group, 0, "fetch", None)
        ]
        if not rows:
            raise EvidenceMissing(f"nobody answered about group {group}")
        found = max(rows, key=lambda row: int(row["at_ns"]))["offset"]
        return "none" if found is None else found

    return exactly(f"committed offset of group {group}", "none" if offset is None else offset, of)


def still_committed(group: str, offset: int, expected: bool) -> Expectation:
    """Whether the coordinator's last answer about a group, in partition 0, is this offset. It is not if there
    was no answer without an error."""

    def of(run: FinishedRun) -> bool:
        rows = [
            row
            for row in run.offsets
            if (row["group"], row["partition"], row["source"]) == (group, 0, "fetch")
        ]
        last = max(rows, key=lambda row: int(row["at_ns"]), default=None)
        return last is not None and last["error"] is None and last["offset"] == offset

    return exactly(
        f"offset {offset} of group {group} is still committed",
        format_value(expected),
        lambda run: format_value(of(run)),
    )


def transaction(producer: int, number: int, outcome: TxnOutcome) -> Expectation:
    """The outcome of a transaction as its client learned it."""

    def of(run: FinishedRun) -> str:
        for row in run.transactions:
            if (row["producer"], row["txn"]) == (producer, number):
                return str(row["outcome"])
        raise EvidenceMissing(f"producer {producer} has no transaction {number}")

    return exactly(f"transaction {number} of producer {producer}", outcome.value, of)


def given_times(times: int) -> Expectation:
    """Every record in the log at the end was given to members of the share group this number of times."""

    def of(run: FinishedRun) -> set[int]:
        given = Counter((row["partition"], row["offset"]) for row in run.deliveries)
        log = {(row["partition"], row["offset"]) for row in run.final_log}
        if not log:
            raise EvidenceMissing("the log is empty")
        return {given[place] for place in log}

    return exactly("how often each record was given", {times}, of)


def accepted(least: int) -> Expectation:
    """The number of records whose acceptance was answered without an error is at least this one."""

    def look(run: FinishedRun) -> tuple[str, bool | None]:
        done = {
            (row["partition"], row["offset"])
            for row in run.deliveries
            if row["acknowledgement"] == "accept" and row["answered_ns"] is not None and row["error"] is None
        }
        return f"{len(done):,}", len(done) >= least

    return Expectation("records that were accepted", f"at least {least:,}", look)
