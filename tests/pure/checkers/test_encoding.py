"""Names in SQL text."""

from __future__ import annotations

import pytest

from checkers.facts.encoding import Codes, decode, encode, literal, name_of, spot_number

pytestmark = pytest.mark.pure


def test_a_string_stays_one_literal() -> None:
    assert literal("kill-1") == "'kill-1'"
    assert literal("it's \\ 'so'") == "'it\\'s \\\\ \\'so\\''"


def test_names_by_number_and_back() -> None:
    assert decode("x", ["a", "b"]) == "get(array('a', 'b'), x)"
    assert encode("x", ["a", "b"]) == "element_at(map('a', 0, 'b', 1), x)"
    assert decode("x", []) == "cast(NULL AS string)"
    assert encode("x", []) == "cast(NULL AS int)"
    codes = Codes(("a", "b"))
    assert spot_number("b", 3, codes) - spot_number("b", 0, codes) == 3
    assert "array('a', 'b')" in name_of("spot", codes)
