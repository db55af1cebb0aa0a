"""Sentences that go with findings, made for all rows at a time: no record passes through Python by itself.

As in SQL, a sentence of which a part is null is null; `otherwise` replaces what is null. What is the same for
many rows is joined once: where possible, a part is one string for all rows, or an Arrow dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from checkers.facts.columns import NULL, Flags, nullable

Text: TypeAlias = Any
"""One string per row: an Arrow array of strings, or a dictionary of them; one `str` for all rows; `Said`."""
Choice: TypeAlias = "Text | Callable[[], Text]"


@dataclass(frozen=True)
class Said:
    """Parts that stand one after the other, joined when all of a sentence is there."""

    parts: tuple[Text, ...]


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
        column = self.numbers[name]
        if len(column) and column[0] != NULL and (column == column[0]).all():
            return str(int(column[0]))
        return nullable(column, pa.int64()).cast(pa.string())

    def text(self, name: str) -> Text:
        """A column of strings."""
        return self.texts[name]

    def says(self, name: str, word: str) -> Text:
        """Whether a column of strings is this word, as an Arrow array; null where it is null."""
        text = self.texts[name]
        if pa.types.is_dictionary(text.type):
            return pc.equal(text.dictionary, word).take(text.indices)
        return pc.equal(text, word)


def say(*parts: Text) -> Text:
    """The parts one after the other."""
    flat: list[Text] = [""]
    for part in parts:
        for one in part.parts if isinstance(part, Said) else (part,):
            joined = _joined_once(flat[-1], one)
            flat[-1:] = [flat[-1], one] if joined is None else [joined]
    return flat[0] if len(flat) == 1 else Said(tuple(flat))


def _joined_once(one: Text, other: Text) -> Text | None:
    """Two parts as one, if their kinds can be joined instead of their rows; else None."""
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    for empty, rest in ((one, other), (other, one)):
        if isinstance(empty, str) and not empty:
            return rest
    coded = [part for part in (one, other) if not isinstance(part, str)]
    if len(coded) != 1 or not pa.types.is_dictionary(coded[0].type):
        return None
    kinds = [part if isinstance(part, str) else part.dictionary for part in (one, other)]
    return pa.DictionaryArray.from_arrays(coded[0].indices, pc.binary_join_element_wise(*kinds, ""))


def written(text: Text, count: int) -> pa.Array:
    """The strings of `count` rows as an Arrow array."""
    if isinstance(text, str):
        return pa.repeat(text, count)
    if isinstance(text, Said):
        return pc.binary_join_element_wise(*map(_decoded, text.parts), "")
    return _decoded(text)


def _decoded(text: Text) -> Text:
    """An array of strings, if it is a dictionary of them."""
    coded = not isinstance(text, str) and pa.types.is_dictionary(text.type)
    return text.dictionary.take(text.indices) if coded else text


def when(flags: Flags | Any, this: Choice, that: Choice) -> Text:
    """`this` where the flag (of numpy or Arrow) is set, else `that`. Of a function, the result; it is called
    only if a row needs it."""
    flags = pa.array(flags) if isinstance(flags, np.ndarray) else flags
    if not flags.null_count and flags.true_count in (0, len(flags)):
        return _text(this if flags.true_count else that)
    chosen, other = _text(this), _text(that)
    here, there = (_kinds(one, len(flags)) for one in (chosen, other))
    if flags.null_count or here is None or there is None:
        return pc.if_else(flags, written(chosen, len(flags)), written(other, len(flags)))
    codes = pc.if_else(flags, here[0], pc.add(there[0], pa.scalar(len(here[1]), pa.int32())))
    return pa.DictionaryArray.from_arrays(codes, pa.concat_arrays([here[1], there[1]]))


def _kinds(text: Text, count: int) -> tuple[pa.Array, pa.Array] | None:
    """Indices into different strings, and these strings; None: each row may have its own."""
    if isinstance(text, str):
        return pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([text], pa.string())
    if isinstance(text, Said) or not pa.types.is_dictionary(text.type):
        return None
    return text.indices.cast(pa.int32()), text.dictionary


def _text(choice: Choice) -> Text:
    return choice() if callable(choice) else choice


def otherwise(text: Text, words: Text) -> Text:
    """The text, or these words where it is null."""
    if isinstance(text, str):
        return text
    rows = written(text, 0)
    return pc.fill_null(rows, words if isinstance(words, str) else written(words, len(rows)))


def acked_at(rows: FindingRows) -> Text:
    at = rows.text("sent_to")
    return when(
        rows["acked_offset"] == NULL,
        lambda: say("acknowledged without an offset in ", at),
        lambda: say("acknowledged at offset ", rows.number("acked_offset"), " of ", at),
    )


def standing(rows: FindingRows) -> Text:
    """What is where a lost record was acknowledged."""

    def otherwise_gone() -> Text:
        return when(rows.says("place", "tail"), ends_at, "; not in the log")

    def ends_at() -> Text:
        return say("; the log ends at offset ", rows.number("end_offset"))

    def replaced() -> Text:
        other = "; another record stands there now"
        return when(rows.says("place", "overwritten"), other, otherwise_gone)

    def damaged() -> Text:
        return when(rows["overwritten_badly"], "; a damaged value stands there now", replaced)

    held_back = "; the log holds it, but readers of committed records get nothing of its transaction"
    return when(rows.says("place", "not committed"), held_back, damaged)


def holders(rows: FindingRows) -> Text:
    """The brokers whose own files hold a lost record."""
    return when(rows.says("holders", ""), "", lambda: say("; in the files of broker ", rows.text("holders")))


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
    first = rows.number("first_offset")
    return first if isinstance(first, str) else pc.coalesce(first, rows.number("live_offset"))
