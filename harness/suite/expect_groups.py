"""Expectations on consumer groups: their commits, and the committed offsets at the end."""

from __future__ import annotations

from harness.suite.expectations import Expectation, between, exactly
from harness.suite.run_evidence import EvidenceMissing, FinishedRun


def commits_answered(step: str, least: int, most: int | None = None) -> Expectation:
    """The number of groups of a step `commit_offsets` whose commit was answered without an error (`most`
    None: exactly `least`)."""

    def of(run: FinishedRun) -> int:
        mine = [row for row in run.commits if row["reader"].rpartition("-")[0] == step]
        if not mine:
            raise EvidenceMissing(f"no commits of step {step} were journaled")
        return len({row["reader"] for row in mine if row["error"] is None})

    return between(f"commits of {step} answered as done", least, least if most is None else most, of)


def last_answer(group: str, offset: int | None) -> Expectation:
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
