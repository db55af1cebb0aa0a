"""Structs are made in one place, since engines differ in where null stands among those that they compare."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

MAKES_ONE = re.compile(r"\b(named_)?struct\(|call_function\(\s*[\"'](named_)?struct[\"']")
"""A call of PySpark's function, by name or directly, or of SQL's."""
MAY_MAKE = {
    "checkers/sql.py": "`comparable` is there, and `constants`, which are not compared",
    "checkers/questions/differences.py": "examples of what engines do with them",
}


@pytest.mark.parametrize(
    "source",
    [
        "F.min(F.struct('a', 'b'))",
        "struct('a')",
        "F.named_struct(F.lit('a'), 'a')",
        "F.call_function('struct', 'a')",
        "F.expr('min(struct(a, b))')",
        "rows.selectExpr('max(named_struct(\"a\", a))')",
    ],
)
def test_a_struct_is_seen(source: str) -> None:
    assert MAKES_ONE.search(source)


@pytest.mark.parametrize(
    "source",
    ["F.min(comparable('a'))", "model.model_construct(a=1)", "'a struct of nulls'", "F.col('struct')"],
)
def test_what_makes_none_is_not_taken_for_one(source: str) -> None:
    assert not MAKES_ONE.search(source)


def test_structs_are_made_in_one_location() -> None:
    paths = [path for room in ("checkers", "harness") for path in (ROOT / room).rglob("*.py")]
    made = {str(path.relative_to(ROOT)) for path in paths if MAKES_ONE.search(path.read_text())}
    assert made == set(MAY_MAKE), "use `checkers.sql.comparable`"
