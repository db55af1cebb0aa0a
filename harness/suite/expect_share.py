"""Expectations on share groups: how often their members were given records."""

from __future__ import annotations

from collections import Counter

from harness.suite.expectations import Expectation, exactly
from harness.suite.run_evidence import EvidenceMissing, FinishedRun


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
