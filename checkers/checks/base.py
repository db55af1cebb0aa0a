"""What a check is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.facts.columns import OUTCOMES, TXN_OUTCOMES
from harness.model.journal import SendOutcome, TxnOutcome
from harness.model.result import FindingClass

FindingSubject = Literal["record", "delivery", "replica"]
Rule = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class Check:
    """One class of findings: what it is, and the function that finds it.

    `find` takes the DataFrame of its subject and returns it with its findings named: of records and
    deliveries, rows that no earlier check claimed get their class in the column `finding`; of replicas, one
    row per finding. `detail` is an SQL expression over the columns of a finding, the sentence that people
    read about it. Definition, source and example are the function's docstring.
    """

    finding: FindingClass
    subject: FindingSubject
    find: Rule
    detail: str

    def definition(self) -> str:
        return self._parts()[0]

    def source(self) -> str:
        return self._parts()[1]

    def example(self) -> str:
        return self._parts()[2]

    def _parts(self) -> tuple[str, str, str]:
        """The docstring: definition, `Source:`, `Example:`."""
        text = " ".join(inspect.cleandoc(self.find.__doc__ or "").split())
        definition, _, rest = text.partition("Source:")
        source, _, example = rest.partition("Example:")
        return definition.strip(), source.strip(), example.strip()


def check(
    finding: FindingClass, detail: str, *, subject: FindingSubject = "record"
) -> Callable[[Rule], Check]:
    """Decorator that makes the check of a class from its function; see `Check` for the arguments."""
    return lambda find: Check(finding, subject, find, detail)


def claim(rows: DataFrame, finding: FindingClass, condition: Column) -> DataFrame:
    """Rows with this class in `finding` where the condition holds and no earlier check claimed them."""
    named = F.coalesce(F.col("finding"), F.when(condition, F.lit(finding.value)))
    return rows.withColumn("finding", named)


def outcome(word: SendOutcome) -> Column:
    """Whether the send has this outcome."""
    return F.col("outcome") == OUTCOMES.index(word)


def txn_outcome(word: TxnOutcome) -> Column:
    """Whether the send's transaction has this outcome."""
    return F.col("txn_outcome") == TXN_OUTCOMES.index(word)


def present() -> Column:
    """Whether the final read holds the record."""
    return F.col("read_rows") > 0
