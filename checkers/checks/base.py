"""What a check is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pyspark.sql import DataFrame

from checkers.facts.columns import OUTCOMES, TXN_OUTCOMES
from harness.model.journal import SendOutcome, TxnOutcome
from harness.model.result import FindingClass

FindingSubject = Literal["record", "delivery", "replica"]
Condition = Callable[[], str]
Search = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class Check:
    """One class of findings: what it is, and the function that finds it.

    `rule` of records and deliveries returns an SQL condition over the columns of the subject: the rows that
    meet it, and no condition of an earlier check, are findings of this class. Of replicas, it takes the
    DataFrame of the subject and returns one row per finding. `detail` is an SQL expression over the columns
    of a finding, the sentence that people read about it. Definition, source and example are the function's
    docstring.
    """

    finding: FindingClass
    subject: FindingSubject
    rule: Callable[..., Any]
    detail: str

    def definition(self) -> str:
        return self._parts()[0]

    def source(self) -> str:
        return self._parts()[1]

    def example(self) -> str:
        return self._parts()[2]

    def _parts(self) -> tuple[str, str, str]:
        """The docstring: definition, `Source:`, `Example:`."""
        text = " ".join(inspect.cleandoc(self.rule.__doc__ or "").split())
        definition, _, rest = text.partition("Source:")
        source, _, example = rest.partition("Example:")
        return definition.strip(), source.strip(), example.strip()


def check(
    finding: FindingClass, detail: str, *, subject: FindingSubject = "record"
) -> Callable[[Condition], Check]:
    """Decorator that makes the check of a class from the function that returns its condition; see `Check` for
    the arguments."""
    return lambda rule: Check(finding, subject, rule, detail)


def check_of_replicas(finding: FindingClass, detail: str) -> Callable[[Search], Check]:
    """The same for the check of a class that is searched for among replicas."""
    return lambda rule: Check(finding, "replica", rule, detail)


def outcome(word: SendOutcome) -> str:
    """Whether the send has this outcome (SQL)."""
    return f"outcome = {OUTCOMES.index(word)}"


def txn_outcome(word: TxnOutcome) -> str:
    """Whether the send's transaction has this outcome (SQL)."""
    return f"txn_outcome = {TXN_OUTCOMES.index(word)}"


PRESENT = "read_rows > 0"
"""Whether the final read holds the record (SQL)."""
ABSENT = "read_rows <= 0"
"""Its opposite; `read_rows` is never null."""
ACKED = outcome(SendOutcome.ACKED)
