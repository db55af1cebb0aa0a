"""Rows are counted by the values of columns of any type; sentences are made for the rows that need them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.checks.sentences import (
    FindingRows,
    Text,
    acked_at,
    otherwise,
    say,
    seen_live,
    standing,
    when,
    written,
)
from checkers.facts.columns import NULL
from checkers.findings.table import Labels
from checkers.judgement.counting import Coded, CodedTable, coded, counted

pytestmark = pytest.mark.pure

SCHEMA = pa.schema([("n", pa.int64()), ("s", pa.string()), ("l", pa.list_(pa.int32()))])
rows = st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(-2, 2) | st.integers(-(2**62), 2**62),
        "s": st.none() | st.sampled_from(["", "a", "b"]),
        "l": st.none() | st.lists(st.integers(1, 3), max_size=2),
    }
)


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(rows, min_size=1, max_size=30),
    names=st.lists(st.sampled_from("nsl"), min_size=1, max_size=4),
)
def test_counts_are_those_of_the_values(rows: list[dict[str, Any]], names: list[str]) -> None:
    columns = CodedTable(pa.Table.from_pylist(rows, SCHEMA))

    def plain(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    expected = Counter(tuple(plain(row[name]) for name in names) for row in rows)
    assert counted([columns[name] for name in names]) == expected
    chosen = np.array([row["s"] in ("a", None) for row in rows], bool)
    assert columns["s"].among(["a", None]).tolist() == chosen.tolist()
    some = Counter((plain(row["n"]),) for row in rows if row["s"] in ("a", None))
    assert counted([columns["n"].where(chosen)]) == some


def test_labels_are_counted_by_name_even_if_two_numbers_stand_for_one() -> None:
    labels = Labels(np.array([0, 1, 2, -1, -1]), ["a", "b", "a"])
    assert counted([Coded.of_labels(labels)]) == {("a",): 2, ("b",): 1, (None,): 2}
    assert labels.array().to_pylist() == ["a", "b", "a", None, None]
    assert labels.coded().to_pylist() == ["a", "b", "a", None, None]
    assert labels.coded().dictionary.to_pylist() == ["a", "b"]
    assert Labels(np.array([0, 1, -1]), [None, "b"]).coded().to_pylist() == [None, "b", None]
    for codes in ([1, 1], [-1, -1], []):
        names = [None if code < 0 else "b" for code in codes]
        for array in (Labels.array, Labels.coded):
            assert array(Labels(np.array(codes, np.int64), ["a", "b"])).to_pylist() == names


def test_an_empty_column_is_coded() -> None:
    assert len(coded(pa.chunked_array([pa.array([], pa.string())])).codes) == 0


def never() -> Text:
    raise AssertionError("made for no row")


def test_a_text_is_made_only_if_a_row_needs_it() -> None:
    def rows(flags: Any, this: Any, that: Any) -> list[str | None]:
        return list(written(when(flags, this, that), len(flags)).to_pylist())

    assert rows(np.array([True, True]), "a", never) == ["a", "a"]
    assert rows(pa.array([False, False]), never, lambda: pa.array(["b", "c"])) == ["b", "c"]
    assert rows(np.array([True, False]), lambda: pa.array(["a", "b"]), "c") == ["a", "c"]
    assert rows(np.array([True, False]), "a", "c") == ["a", "c"]
    assert rows(np.zeros(0, bool), never, "a") == []
    # As in SQL, null is neither.
    assert rows(pa.array([True, None]), "a", "b") == ["a", None]


STRINGS = st.lists(st.none() | st.sampled_from(["", "x", "y"]), min_size=4, max_size=4)
FLAGS = st.lists(st.none() | st.booleans(), min_size=4, max_size=4).map(
    lambda rows: pa.array(rows, pa.bool_())
)
TEXTS = st.recursive(
    st.sampled_from(["", "a", "b"])
    | STRINGS.map(lambda rows: pa.array(rows, pa.string()))
    | STRINGS.map(lambda rows: pa.array(rows, pa.string()).dictionary_encode()),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: ("say", parts))
        | st.tuples(FLAGS, inner, inner).map(lambda parts: ("when", parts))
        | st.tuples(inner, inner).map(lambda parts: ("otherwise", parts))
    ),
    max_leaves=6,
)


def row_by_row(text: Any) -> list[str | None]:
    """The sentences in plain Python."""
    if isinstance(text, str):
        return [text] * 4
    if not isinstance(text, tuple):
        return list(text.to_pylist())
    kind, parts = text
    if kind == "say":
        joined = zip(*map(row_by_row, parts), strict=True)
        return [None if None in row else "".join(map(str, row)) for row in joined]
    if kind == "otherwise":
        both = zip(row_by_row(parts[0]), row_by_row(parts[1]), strict=True)
        return [other if row is None else row for row, other in both]
    rows = zip(parts[0].to_pylist(), row_by_row(parts[1]), row_by_row(parts[2]), strict=True)
    return [None if flag is None else this if flag else that for flag, this, that in rows]


def composed(text: Any) -> Text:
    if not isinstance(text, tuple):
        return text
    kind, parts = text
    if kind == "say":
        return say(*map(composed, parts))
    if kind == "otherwise":
        return otherwise(composed(parts[0]), composed(parts[1]))
    return when(parts[0], composed(parts[1]), lambda: composed(parts[2]))


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_sentences_are_those_made_row_by_row(text: Any) -> None:
    assert written(composed(text), 4).to_pylist() == row_by_row(text)


def test_numbers_that_are_the_same_in_all_rows_are_one_string() -> None:
    columns = {"one": np.array([7, 7]), "two": np.array([7, NULL]), "none": np.array([NULL, NULL])}
    some = FindingRows(columns, {})
    assert some.number("one") == "7"
    assert some.number("two").to_pylist() == ["7", None]
    assert some.number("none").to_pylist() == [None, None]


def test_sentences_of_mixed_rows_are_those_of_each_row_alone() -> None:
    numbers = {
        "acked_offset": np.array([5, NULL, 7, 8]),
        "end_offset": np.array([9, 9, 7, 9]),
        "live_offset": np.array([NULL, 3, NULL, NULL]),
        "live_rows": np.array([0, 2, 0, 0]),
        "overwritten_badly": np.array([False, False, False, True]),
    }
    texts = {
        "sent_to": pa.array(["t-0", "t-1", "t-0", "t-2"]),
        "place": pa.array(["overwritten", "not committed", "tail", "overwritten"]),
        "reader": pa.array([None, "r", None, None], pa.string()),
    }
    expected = [
        ["acknowledged at offset 5 of t-0", "; another record stands there now", ""],
        [
            "acknowledged without an offset in t-1",
            "; the log holds it, but readers of committed records get nothing of its transaction",
            "; live reader r had got it at offset 3",
        ],
        ["acknowledged at offset 7 of t-0", "; the log ends at offset 7", ""],
        ["acknowledged at offset 8 of t-2", "; a damaged value stands there now", ""],
    ]
    for part in (slice(0, 4), *(slice(one, one + 1) for one in range(4))):
        some = FindingRows(
            {name: column[part] for name, column in numbers.items()},
            {name: text.take(pa.array(np.arange(4)[part])) for name, text in texts.items()},
        )
        found = [
            written(sentence(some), len(some)).to_pylist() for sentence in (acked_at, standing, seen_live)
        ]
        assert list(map(list, zip(*found, strict=True))) == expected[part]
