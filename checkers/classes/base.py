"""What a class of findings is: a rule and a sentence, both columns over the facts of a subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.evidence.sentences import text
from harness.model.finding_class import FindingClass

FindingSubject = Literal["record", "output", "delivery", "group", "share", "transaction", "replica", "id"]


class Facts:
    """The columns of a subject's facts: `r.outcome` is `F.col("outcome")`."""

    def __getattr__(self, name: str) -> Column:
        return F.col(name)


ColumnRule = Callable[[Facts], Column]
"""Which rows are of the class, or the sentence about each of them."""


@dataclass(frozen=True)
class FindingRule:
    """One class of findings: what it is, and the function that says which rows are of it.

    `rule` returns a condition; null counts as no. Of the rules of a subject the first that holds counts.
    `detail` returns the sentence that people read about each finding. Definition, source and example are the
    docstring of `rule`.
    """

    finding: FindingClass
    subject: FindingSubject
    rule: ColumnRule
    detail: ColumnRule

    def definition(self) -> str:
        return self._parts()[0]

    def source(self) -> str:
        return self._parts()[1]

    def example(self) -> str:
        return self._parts()[2]

    def _parts(self) -> tuple[str, str, str]:
        """The docstring: definition, `Source:`, `Example:`."""
        text = " ".join((self.rule.__doc__ or "").split())
        definition, _, rest = text.partition("Source:")
        source, _, example = rest.partition("Example:")
        return definition.strip(), source.strip(), example.strip()


def rules_in(names: Mapping[str, object]) -> tuple[FindingRule, ...]:
    """The classes of findings that a module defines, in the order in which they apply; `names` are its
    globals."""
    return tuple(value for value in names.values() if isinstance(value, FindingRule))


def finding_class(
    detail: ColumnRule | str, *, subject: FindingSubject = "record"
) -> Callable[[ColumnRule], FindingRule]:
    """Decorator that makes the class of findings from its rule, a function of the class's name; see
    `FindingRule` for the arguments. `detail` may be the text of the sentence
    (`checkers.evidence.sentences`)."""
    sentence: ColumnRule = (lambda _: text(detail)) if isinstance(detail, str) else detail
    return lambda rule: FindingRule(FindingClass(rule.__name__), subject, rule, sentence)
