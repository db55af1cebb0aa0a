"""Runs the checks of a subject; a check that fails is a reason for an unknown verdict, not a crash."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from pyspark.sql import DataFrame

from checkers.checks import FindingSubject, checks_of

Returned = TypeVar("Returned")


def run_checks(rows: DataFrame, subject: FindingSubject) -> tuple[DataFrame, list[str]]:
    """Rows with their findings named by all checks of a subject, and the problems of checks that failed."""
    problems = []
    for check in checks_of(subject):
        outcome, problem = attempt(check.finding.value, partial(check.find, rows))
        rows = rows if outcome is None else outcome
        problems += [problem] if problem else []
    return rows, problems


def attempt(name: str, work: Callable[[], Returned]) -> tuple[Returned | None, str | None]:
    """The result of `work`, or a sentence that says why it failed."""
    try:
        return work(), None
    except Exception as error:  # any error of a check makes the verdict unknown, and is shown
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return None, f"the check of {name} failed ({reason}), so the verdict is unknown"
