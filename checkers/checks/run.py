"""Runs the checks of a subject; a check that fails is a reason for an unknown verdict, not a crash."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.checks import FindingSubject, checks_of

Returned = TypeVar("Returned")


def run_checks(rows: DataFrame, subject: FindingSubject) -> tuple[DataFrame, list[str]]:
    """Rows with the class of their finding in the column `finding` (string; null: none), and the problems of
    checks that failed."""
    conditions: dict[str, str] = {}
    problems = []
    for check in checks_of(subject):
        condition, problem = attempt(check.finding.value, check.rule)
        conditions |= {} if condition is None else {check.finding.value: condition}
        problems += [problem] if problem else []
    named, problem = attempt("all", lambda: _named(rows, conditions))
    if named is None:
        # One of them cannot be understood: each alone shows which.
        for finding, condition in list(conditions.items()):
            _, problem = attempt(finding, partial(rows.where, condition))
            if problem:
                problems.append(problem)
                del conditions[finding]
        named = _named(rows, conditions)
    return named, problems


def _named(rows: DataFrame, conditions: dict[str, str]) -> DataFrame:
    cases = " ".join(f"WHEN {condition} THEN '{finding}'" for finding, condition in conditions.items())
    return rows.withColumn("finding", F.expr(f"CASE {cases} END" if cases else "cast(NULL AS string)"))


def attempt(name: str, work: Callable[[], Returned]) -> tuple[Returned | None, str | None]:
    """The result of `work`, or a sentence that says why it failed."""
    try:
        return work(), None
    except Exception as error:  # any error of a check makes the verdict unknown, and is shown
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return None, f"the check of {name} failed ({reason}), so the verdict is unknown"
