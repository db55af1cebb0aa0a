"""Expectations on how an application under test ended, and on how much it had written."""

from __future__ import annotations

from harness.model.run import ApplicationMeta
from harness.suite.expectations import Expectation, exactly
from harness.suite.run_evidence import EvidenceMissing, FinishedRun


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
