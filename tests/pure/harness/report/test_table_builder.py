"""Tables on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from harness.report.table_builder import build_table

pytestmark = pytest.mark.pure


def test_text_is_shown_as_it_is_and_columns_are_aligned() -> None:
    table = build_table(
        ("arm", "lost"),
        [("a[red]b", "7"), (Text("c"), "1,000")],
        title="an [experiment]",
        caption="a [note]",
        right=("lost",),
        headers={"lost": "lost [n]"},
    )
    out = io.StringIO()
    Console(file=out, width=80).print(table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines == [
        "an [experiment]",
        "arm      lost [n]",
        "a[red]b         7",
        "c           1,000",
        "a [note]",
    ]
