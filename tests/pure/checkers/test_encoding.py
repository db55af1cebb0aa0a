"""Names in SQL text."""

from __future__ import annotations

import pytest

from checkers.facts.encoding import encode, literal, spot_number

pytestmark = pytest.mark.pure


def test_a_string_stays_one_literal() -> None:
    assert literal("kill-1") == "'kill-1'"
    assert literal("it's \\ 'so'") == "'it\\'s \\\\ \\'so\\''"


def test_names_by_number() -> None:
    assert encode("x", ["a", "b"]) == "element_at(map('a', 0, 'b', 1), x)"
    assert encode("x", []) == "cast(NULL AS int)"
    topics = ("a", "b")
    assert spot_number("b", 3, topics) - spot_number("b", 0, topics) == 3
