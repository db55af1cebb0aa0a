"""Markdown that shows text as it is."""

from __future__ import annotations

import pytest

from harness.report.markdown import cell, code_block, escape, table

pytestmark = pytest.mark.pure


def test_text_becomes_no_markup() -> None:
    assert escape("a_b = *c* | [d](e) <f> & `g`\n # _h_") == (
        "a_b = \\*c\\* \\| \\[d\\](e) &lt;f&gt; &amp; \\`g\\` \\# \\_h\\_"
    )
    assert escape("\\|") == "\\\\\\|"


def test_a_table_is_one_line_per_row() -> None:
    assert table(("a", "b"), [("x|y", "line\nbreak")]) == "| a | b |\n|---|---|\n| x\\|y | line break |\n"
    assert table(("a",), [("`x|y` <b>",)], cell) == "| a |\n|---|\n| `x\\|y` &lt;b> |\n"


def test_no_line_ends_a_block() -> None:
    assert code_block("a\n````\nb") == "`````text\na\n````\nb\n`````\n"
