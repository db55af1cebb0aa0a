"""The classes of findings: each a function that says, as a column, which rows of facts are of the class.

`kafka-chaos findings` lists them. A new one is a function in `records.py`, `outputs.py`, `deliveries.py`,
`groups.py`, `share.py`, `transactions.py` or `replicas.py` with its definition, source and example in its
docstring. `CLASSES` has them in the order of their functions.
"""

from __future__ import annotations

from checkers.classes import deliveries, groups, outputs, records, replicas, share, transactions
from checkers.classes.base import FindingRule, FindingSubject

CLASSES: tuple[FindingRule, ...] = tuple(
    value
    for module in (records, outputs, deliveries, groups, share, transactions, replicas)
    for value in vars(module).values()
    if isinstance(value, FindingRule)
)
"""All classes of findings; of one subject, in the order in which they apply."""


def of_subject(subject: FindingSubject) -> tuple[FindingRule, ...]:
    """The classes of a subject, in the order in which they apply."""
    return tuple(rule for rule in CLASSES if rule.subject == subject)


__all__ = ["CLASSES", "FindingRule", "FindingSubject", "of_subject"]
