"""What a check is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.checks.sentences import FindingRows, Text, written
from checkers.facts.columns import OUTCOMES, TXN_OUTCOMES, Flags
from harness.model.journal import SendOutcome, TxnOutcome
from harness.model.result import FindingClass

FindingSubject = Literal["record", "output", "delivery", "group", "share", "replica"]


class Rows(Protocol):
    """Columns of numbers and flags by name; a null is `columns.NULL`."""

    def __getitem__(self, name: str, /) -> npt.NDArray[Any]: ...
    def __len__(self) -> int: ...


Rule = Callable[[Rows], Flags]
Sentence = Callable[[FindingRows], Text]


@dataclass(frozen=True)
class Check:
    """One class of findings: what it is, and the function that finds it.

    `rule` takes the rows of the subject and returns which of them are of this class; of records, only those
    count that no earlier check has claimed. `detail` returns the sentence that people read about each of its
    findings. Definition, source and example are the docstring of `rule`.
    """

    finding: FindingClass
    subject: FindingSubject
    rule: Rule
    detail: Sentence

    def sentences(self, rows: FindingRows) -> pa.Array:
        """The sentence about each of these rows."""
        return written(self.detail(rows), len(rows))

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
    finding: FindingClass, detail: Sentence, *, subject: FindingSubject = "record"
) -> Callable[[Rule], Check]:
    """Decorator that makes the check of a class from its rule; see `Check` for the arguments."""
    return lambda rule: Check(finding, subject, rule, detail)


def outcome(rows: Rows, word: SendOutcome) -> Flags:
    """Whether the send has this outcome."""
    return np.asarray(rows["outcome"] == OUTCOMES.index(word))


def txn_outcome(rows: Rows, word: TxnOutcome) -> Flags:
    """Whether the send's transaction has this outcome."""
    return np.asarray(rows["txn_outcome"] == TXN_OUTCOMES.index(word))


def acked(rows: Rows) -> Flags:
    return outcome(rows, SendOutcome.ACKED)


def present(rows: Rows) -> Flags:
    """Whether the final read holds the record."""
    return np.asarray(rows["read_rows"] > 0)


def absent(rows: Rows) -> Flags:
    return ~present(rows)
