"""Expectations on what live readers received while faults were active."""

from __future__ import annotations

from itertools import pairwise

from harness.suite.expectations import Expectation, exactly
from harness.suite.run_evidence import EvidenceMissing, FinishedRun, JournalRow


def received_and_gone(reader: str, count: int) -> Expectation:
    """The number of records that a live reader received and that are not in the log at the end at that
    offset."""

    def of(run: FinishedRun) -> int:
        log = {(row["partition"], row["offset"], row["producer"], row["seq"]) for row in run.final_log}
        return sum(
            (row["partition"], row["offset"], row["producer"], row["seq"]) not in log
            for row in _rows(run, reader)
        )

    return exactly(f"records that consumer {reader} received and that are gone", count, of)


def went_back(reader: str, times: int) -> Expectation:
    """The number of times that a live reader received an offset that is not above the previous one."""

    def of(run: FinishedRun) -> int:
        offsets = [row["offset"] for row in _rows(run, reader) if row["partition"] == 0]
        return sum(late <= early for early, late in pairwise(offsets))

    return exactly(f"times that consumer {reader} went back", times, of)


def received(reader: str, count: int) -> Expectation:
    """The number of records that a live reader received."""
    return exactly(f"records that consumer {reader} received", count, lambda run: len(_rows(run, reader)))


def _rows(run: FinishedRun, reader: str) -> list[JournalRow]:
    if reader not in {one.name for one in run.meta.readers}:
        raise EvidenceMissing(f"there was no consumer {reader}")
    return sorted(run.live(reader), key=lambda row: row["position"])
