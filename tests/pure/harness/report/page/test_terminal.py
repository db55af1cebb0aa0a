"""Tables on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.report.page.blocks import Cell, Lines, Table, Text, section
from harness.report.page.terminal import print_blocks, print_table

pytestmark = pytest.mark.pure


def test_text_is_shown_as_it_is_and_columns_are_aligned() -> None:
    table = Table(
        ("arm", "lost"),
        [("a[red]b", "7"), (Cell("c"), "1,000")],
        title="an [experiment]",
        note="a [note]",
        right=("lost",),
        headers=(("lost", "lost [n]"),),
    )
    out = io.StringIO()
    print_table(Console(file=out, width=80), table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines == [
        "an [experiment]",
        "arm      lost [n]",
        "a[red]b         7",
        "c           1,000",
        "a [note]",
    ]


def test_of_a_page_the_blocks_for_a_terminal_are_printed_and_text_is_not_folded() -> None:
    long = "[b]" + "word " * 40 + "`code`"
    one = Table(("a",), [("1",)])
    blocks = (
        Text("for HTML", only="html"),
        section("a title", one, Table(("b",), ()), one),
        Lines([Cell(long, "bad")], only="terminal"),
    )
    out = io.StringIO()
    print_blocks(Console(file=out, width=80), blocks)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == ["a", "1", "", "a", "1", long]


def test_a_table_of_cards_is_one_block_per_row_where_it_is_too_wide() -> None:
    table = Table(
        ("arm", "fault", "lost", "why"),
        [("acks=1", "kill", Cell("7 (1 to 9)", "bad"), "a long story"), ("all", "none", "0", "-")],
        title="title",
        note="note",
        right=("lost",),
        no_wrap=("lost",),
        heads=2,
        cards=True,
    )
    # 6 + 5 + 10 + 3 characters and three gaps: only the last column can be folded.
    wide, narrow, forced = io.StringIO(), io.StringIO(), io.StringIO()
    print_table(Console(file=wide, width=30), table)
    print_table(Console(file=narrow, width=29), table)
    print_table(Console(file=forced, width=300), table, as_cards=True)
    assert "acks=1  kill   7 (1 to 9)  a" in wide.getvalue()
    assert [line.rstrip() for line in narrow.getvalue().splitlines()] == [
        "title",
        "arm=acks=1, fault=kill",
        "  lost  7 (1 to 9)",
        "  why   a long story",
        "arm=all, fault=none",
        "  lost  0",
        "  why   -",
        "note",
    ]
    assert forced.getvalue() == narrow.getvalue()
