"""The checks: each a function that says which rows of facts are of a class of findings.

`kafka-chaos findings` lists them. A new one is a function in `records.py`, `outputs.py`, `deliveries.py`,
`groups.py`, `share.py` or `replicas.py` with its definition, source and example in its docstring. Where the
function stands in its module is its place in `CHECKS`.
"""

from __future__ import annotations

from checkers.checks import deliveries, groups, outputs, records, replicas, share
from checkers.checks.base import Check, FindingSubject

CHECKS: tuple[Check, ...] = tuple(
    value
    for module in (records, outputs, deliveries, groups, share, replicas)
    for value in vars(module).values()
    if isinstance(value, Check)
)
"""All checks; those of records in the order in which they claim."""


def checks_of(subject: FindingSubject) -> tuple[Check, ...]:
    """The checks of a subject, in the order in which they claim."""
    return tuple(check for check in CHECKS if check.subject == subject)


__all__ = ["CHECKS", "Check", "FindingSubject", "checks_of"]
