"""Markdown that shows text as it is."""

from __future__ import annotations

import pytest

from harness.report.page.blocks import Cell, Code, Lines, Page, Table, Text, section
from harness.report.page.markdown import cell, code_block, escape, render, table

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


def test_a_page_is_its_blocks_for_markdown_and_what_exceeds_a_limit_is_counted() -> None:
    page = Page(
        kind="run",
        name="a_b",
        title="<t>",
        headline="lost `7|8`",
        status="bad",
        blocks=(
            Text("for HTML", only="html"),
            section("one", Lines(["x *y*"]), Table(("a",), [(Cell("no", "bad", strong=True),)], note="n")),
            section("empty", Table(("a",), ()), Lines(())),
            section("two", Code("c")),
        ),
    )
    head = "# a_b: &lt;t&gt;\n\nlost `7|8`.\n"
    one = "\n## one\n\n- x \\*y\\*\n\n| a |\n|---|\n| **no** |\n\nn\n"
    assert render(page) == f"{head}{one}\n## two\n\n```text\nc\n```\n"
    left_out = "\n_2 more part(s) are left out: they would exceed 480 bytes._\n"
    assert render(page, 480) == f"{head}{one}{left_out}"


def test_a_cell_shows_code_as_it_is_and_makes_no_html_of_the_rest() -> None:
    assert cell("`new Producer<>(a | b)` of <b>\nthe") == "`new Producer<>(a \\| b)` of &lt;b> the"
