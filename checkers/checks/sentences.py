"""Sentences that go with findings, made for all rows at a time: no record passes through Python by itself.

As in SQL, a sentence of which a part is null is null; `otherwise` replaces what is null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from checkers.facts.columns import NULL, Flags, nullable

Text: TypeAlias = Any
"""An Arrow array of strings, one per row."""
Choice: TypeAlias = "Text | str | Callable[[], Text]"


@dataclass(frozen=True)
class FindingRows:
    """Rows of one class of findings: columns of numbers and flags, and of strings.

    Of records, the strings are `sent_to`, `first_at` and `elsewhere` (where the record was sent to, first
    read from, and read from other than sent to, each as `topic-partition`), `outcome`, `error`, `reader`,
    `place` and `holders` (brokers, separated by commas; empty: none). Of deliveries and replicas, they are
    `who` and `at`.
    """

    numbers: Mapping[str, npt.NDArray[Any]]
    texts: Mapping[str, Text]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.numbers[name]

    def __len__(self) -> int:
        return len(next(iter(self.numbers.values())))

    def number(self, name: str) -> Text:
        """A column of numbers as strings."""
        return nullable(self.numbers[name], pa.int64()).cast(pa.string())

    def text(self, name: str) -> Text:
        """A column of strings."""
        return self.texts[name]


def say(*parts: Text | str) -> Text:
    """The parts one after the other."""
    return pc.binary_join_element_wise(*parts, "")


def when(flags: Flags | Any, this: Choice, that: Choice) -> Text:
    """`this` where the flag (of numpy or Arrow) is set, else `that`. Of a function, the result; it is called
    only if a row needs it."""
    flags = pa.array(flags) if isinstance(flags, np.ndarray) else flags
    if not flags.null_count and flags.true_count in (0, len(flags)):
        chosen = _text(this if flags.true_count else that)
        return pa.repeat(chosen, len(flags)) if isinstance(chosen, str) else chosen
    return pc.if_else(flags, _text(this), _text(that))


def _text(choice: Choice) -> Text | str:
    return choice() if callable(choice) else choice


def otherwise(text: Text, words: str) -> Text:
    """The text, or these words where it is null."""
    return pc.fill_null(text, words)


def acked_at(rows: FindingRows) -> Text:
    at = rows.text("sent_to")
    return when(
        rows["acked_offset"] == NULL,
        lambda: say("acknowledged without an offset in ", at),
        lambda: say("acknowledged at offset ", rows.number("acked_offset"), " of ", at),
    )


def standing(rows: FindingRows) -> Text:
    """What is where a lost record was acknowledged."""
    place = rows.text("place")

    def otherwise_gone() -> Text:
        ends = partial(say, "; the log ends at offset ", rows.number("end_offset"))
        return when(pc.equal(place, "tail"), ends, "; not in the log")

    def replaced() -> Text:
        other = "; another record stands there now"
        return when(pc.equal(place, "overwritten"), other, otherwise_gone)

    def damaged() -> Text:
        return when(rows["overwritten_badly"], "; a damaged value stands there now", replaced)

    held_back = "; the log holds it, but readers of committed records get nothing of its transaction"
    return when(pc.equal(place, "not committed"), held_back, damaged)


def holders(rows: FindingRows) -> Text:
    """The brokers whose own files hold a lost record."""
    names = rows.text("holders")
    return when(pc.not_equal(names, ""), lambda: say("; in the files of broker ", names), "")


def seen_live(rows: FindingRows) -> Text:
    """Which live reader had got it, and where."""
    reader = rows.text("reader")
    return when(
        rows["live_rows"] > 0,
        lambda: say(
            *("; live reader ", otherwise(reader, "unknown"), " had got it at offset "),
            rows.number("live_offset"),
        ),
        "",
    )


def first_read(rows: FindingRows) -> Text:
    """The offset at which it was first read."""
    return pc.coalesce(rows.number("first_offset"), rows.number("live_offset"))
