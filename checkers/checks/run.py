"""Runs the checks of a subject; a check that fails is a reason for an unknown verdict, not a crash."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from checkers import checks
from checkers.checks.base import Check, FindingSubject, Rows
from checkers.facts.columns import Ints

Returned = TypeVar("Returned")

NONE = -1


def run_checks(rows: Rows, subject: FindingSubject) -> tuple[tuple[Check, ...], Ints, list[str]]:
    """The checks of a subject, the index of the one that claims each row (`NONE`: none does), and the
    problems of checks that failed."""
    found = np.full(len(rows), NONE, np.int64)
    problems = []
    of_subject = checks.checks_of(subject)
    for number, check in enumerate(of_subject):
        flags, problem = attempt(check.finding.value, partial(check.rule, rows))
        if flags is not None:
            found[flags & (found == NONE)] = number
        problems += [problem] if problem else []
    return of_subject, found, problems


def attempt(name: str, work: Callable[[], Returned]) -> tuple[Returned | None, str | None]:
    """The result of `work`, or a sentence that says why it failed."""
    try:
        return work(), None
    except Exception as error:  # any error of a check makes the verdict unknown, and is shown
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return None, f"the check of {name} failed ({reason}), so the verdict is unknown"
