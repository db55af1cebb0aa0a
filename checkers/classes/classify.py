"""From facts to findings: the first class that applies to each row, and the sentence about it.

A rule that the engine refuses when it plans it is a reason for an unknown verdict, not a crash: the other
classes go on. What fails while the engine computes it ends the check (`checkers.engine.failures`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.classes.base import Facts, FindingRule
from checkers.evidence.findings import as_findings
from checkers.found import Found
from checkers.sql import case
from harness.model.errors import first_line

Returned = TypeVar("Returned")

UNUSABLE = (PySparkException, AttributeError, LookupError, TypeError, ValueError)
"""What a rule raises that is wrong in itself: a column that does not exist, a mistake in its code."""


def attempt(name: str, work: Callable[[], Returned]) -> tuple[Returned | None, str | None]:
    """The result of `work`, or a sentence that says why it failed."""
    try:
        return work(), None
    except UNUSABLE as error:
        return None, f"the check of {name} failed ({first_line(error)}), so the verdict is unknown"


def findings_of(
    rules: Sequence[FindingRule],
    facts: DataFrame,
    columns: Mapping[str, Column],
    *,
    evidence: Callable[[DataFrame], DataFrame] = lambda rows: rows,
) -> Found:
    """The findings of these classes, in the order in which they apply, without those whose rules cannot be
    computed, which are problems.

    Args:
        columns: values of columns (`as_findings`).
        evidence: adds what sentences and `columns` use to the rows of a class; their `finding` is its name.
    """

    def found(rules: Sequence[FindingRule]) -> DataFrame:
        rows = facts.withColumn("finding", class_of(rules)).where(F.col("finding").isNotNull())
        sentences = [(F.col("finding") == rule.finding.value, rule.detail(Facts())) for rule in rules]
        return as_findings(evidence(rows).withColumn("detail", case(sentences)), columns)

    findings, _ = attempt("all classes", lambda: found(rules))
    if findings is not None:
        return Found(findings)
    problems = {rule: attempt(rule.finding.value, lambda rule=rule: found([rule]))[1] for rule in rules}  # type: ignore[misc]
    usable = found([rule for rule in rules if not problems[rule]])
    return Found(usable).with_problems(*problems.values())


def class_of(rules: Sequence[FindingRule]) -> Column:
    """The name (string) of the first class that applies to each row; null: none does."""
    return case([(rule.rule(Facts()), F.lit(rule.finding.value)) for rule in rules]).cast("string")
