"""Rows are counted by the values of columns of any type; sentences are made for the rows that need them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.checks.sentences import FindingRows, Text, acked_at, seen_live, standing, when
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
    for codes in ([1, 1], [-1, -1], []):
        names = [None if code < 0 else "b" for code in codes]
        assert Labels(np.array(codes, np.int64), ["a", "b"]).array().to_pylist() == names


def test_an_empty_column_is_coded() -> None:
    assert len(coded(pa.chunked_array([pa.array([], pa.string())])).codes) == 0


def never() -> Text:
    raise AssertionError("made for no row")


def test_a_text_is_made_only_if_a_row_needs_it() -> None:
    assert when(np.array([True, True]), "a", never).to_pylist() == ["a", "a"]
    assert when(pa.array([False, False]), never, lambda: pa.array(["b", "c"])).to_pylist() == ["b", "c"]
    assert when(np.array([True, False]), lambda: pa.array(["a", "b"]), "c").to_pylist() == ["a", "c"]
    assert when(np.zeros(0, bool), never, "a").to_pylist() == []
    # As in SQL, null is neither.
    assert when(pa.array([True, None]), "a", "b").to_pylist() == ["a", None]


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
        found = [sentence(some).to_pylist() for sentence in (acked_at, standing, seen_live)]
        assert list(map(list, zip(*found, strict=True))) == expected[part]
