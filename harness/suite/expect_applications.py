"""Expectations on an application under test: what it left out or processed again, and how it ended."""

from __future__ import annotations

from harness.model.journal import APPLICATION_DIR
from harness.model.result import FindingClass
from harness.model.run import ApplicationMeta
from harness.suite.expect_records import findings
from harness.suite.expectations import Expectation, between, exactly, precondition
from harness.suite.run_evidence import EvidenceMissing, FinishedRun


def unprocessed(count: int) -> Expectation:
    """The number of inputs that have no output."""
    return findings(FindingClass.UNPROCESSED, count)


def reprocessed(least: int, most: int | None = None) -> Expectation:
    """The number of inputs that have more than one output is between two bounds (`most` None: no limit)."""
    return between("inputs processed again", least, most, lambda run: run.count(FindingClass.REPROCESSED))


def ended_by_itself() -> Expectation:
    """A precondition: an instance of the application ended by itself, and was started again."""

    def of(run: FinishedRun) -> bool:
        events = [row["event"] for row in run.rows(APPLICATION_DIR)]
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
        meta = _application(run)
        return meta.drained and meta.read_complete

    return precondition(exactly("the application drained, and its output read to the end", True, of))


def failed() -> Expectation:
    """The application ended by itself with an error, as `must_fail` asks."""
    return exactly("the application stopped with an error", True, lambda run: _application(run).failed)


def outputs(count: int) -> Expectation:
    """The number of records of its output."""
    return exactly("outputs", count, lambda run: _application(run).records)


def _application(run: FinishedRun) -> ApplicationMeta:
    if run.meta.application is None:
        raise EvidenceMissing("the run has no application")
    return run.meta.application
