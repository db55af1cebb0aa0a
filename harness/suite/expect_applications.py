"""Expectations on an application under test: what it left out, and what it processed again."""

from __future__ import annotations

from harness.model.journal import APPLICATION_DIR
from harness.model.result import FindingClass
from harness.suite.expect_records import findings
from harness.suite.expectations import Expectation, between, exactly, precondition
from harness.suite.run_evidence import EvidenceMissing, FinishedRun


def unprocessed(count: int) -> Expectation:
    """The number of inputs that have no output."""
    return findings(FindingClass.UNPROCESSED, count)


def some_unprocessed(least: int) -> Expectation:
    """At least this number of inputs have no output."""
    return between("inputs without an output", least, None, lambda run: run.count(FindingClass.UNPROCESSED))


def reprocessed(least: int, most: int | None = None) -> Expectation:
    """The number of inputs that have more than one output lies between two numbers."""
    if most == 0:
        return findings(FindingClass.REPROCESSED, 0)
    return between("inputs processed again", least, most, lambda run: run.count(FindingClass.REPROCESSED))


def ended_by_itself() -> Expectation:
    """A precondition: an instance of the application ended by itself, and was started again."""

    def of(run: FinishedRun) -> bool:
        events = [row["event"] for row in run.application_events]
        return "exited" in events and "restarted" in events

    return precondition(exactly("the application ended by itself and was started again", True, of))


def logged(text: str) -> Expectation:
    """An instance of the application has printed this text."""

    def of(run: FinishedRun) -> bool:
        files = (run.folder / APPLICATION_DIR).glob("instance-*.log")
        return any(text in file.read_text(errors="replace") for file in files)

    return exactly(f"{text} in the application's log", True, of)


def drained() -> Expectation:
    """A precondition: the application had nothing left to do, and its output was read to the end."""

    def of(run: FinishedRun) -> bool:
        meta = run.meta.application
        if meta is None:
            raise EvidenceMissing("the run has no application")
        return meta.drained and meta.read_complete

    return precondition(exactly("the application drained, and its output read to the end", True, of))
