"""The checks: each a function that returns the SQL condition of a class of findings over facts.

`kafka-chaos findings` lists them. A new one is a function in `records.py`, `deliveries.py` or `replicas.py`
with its definition, source and example in its docstring. Where the function stands in its module is its place
in `CHECKS`.
"""

from __future__ import annotations

from checkers.checks import deliveries, records, replicas
from checkers.checks.base import Check, FindingSubject

CHECKS: tuple[Check, ...] = tuple(
    value
    for module in (records, deliveries, replicas)
    for value in vars(module).values()
    if isinstance(value, Check)
)
"""All checks; those of records in the order in which they claim."""


def checks_of(subject: FindingSubject) -> tuple[Check, ...]:
    """The checks of a subject, in the order in which they claim."""
    return tuple(check for check in CHECKS if check.subject == subject)


def detail_of(subject: FindingSubject) -> str:
    """An SQL expression: the sentence that goes with a finding, by the class in the column `finding`."""
    cases = (f"WHEN '{check.finding.value}' THEN {check.detail}" for check in checks_of(subject))
    return f"CASE finding {' '.join(cases)} END"


__all__ = ["CHECKS", "Check", "FindingSubject", "checks_of", "detail_of"]
