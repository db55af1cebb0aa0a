"""Pages on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from rich import table as rich_table
from rich.console import Console
from rich.text import Text as RichText

from harness.report.page.blocks import (
    AnyCell,
    Block,
    Cell,
    Code,
    Lines,
    Page,
    Section,
    Table,
    Text,
    shown,
    text_of,
)

_COLOURS = {"good": "green", "bad": "red", "unclear": "yellow", None: ""}


def print_page(out: Console, page: Page) -> None:
    """Print the heading of a page and those of its blocks that are for a terminal."""
    _print_line(out, RichText(page.heading, style="bold"))
    print_blocks(out, page.blocks)


def print_blocks(out: Console, blocks: Iterable[Block]) -> None:
    """Print blocks, with an empty line between tables. Brackets are no markup; only cells are folded."""
    flat = list(_flat(blocks))
    for block, following in pairwise([*flat, None]):
        if isinstance(block, Table):
            print_table(out, block)
            if isinstance(following, Table):
                out.print()
        elif isinstance(block, Text | Code):
            _print_line(out, RichText(block.text))
        elif isinstance(block, Lines):
            for line in block.lines:
                _print_line(out, styled(line))


def print_table(out: Console, table: Table, *, as_cards: bool = False) -> None:
    """Print a table without borders between its title and its note.

    A table with `cards` that is too wide for the terminal is printed as one block of lines per row, so that
    nothing of it is cut off; `as_cards` prints it so in any case.
    """
    if table.title:
        _print_line(out, RichText(table.title, style="bold"))
    if table.cards and (as_cards or _least_width(table) > out.width):
        _print_cards(out, table)
    else:
        out.print(_grid(table))
    if table.note:
        _print_line(out, RichText(table.note, style="table.caption"))


def _least_width(table: Table) -> int:
    """The width at which no header, no cell that names a row, and none that must not be broken is broken."""
    headers, total = dict(table.headers), 2 * (len(table.columns) - 1)
    for number, name in enumerate(table.columns):
        whole = name in table.no_wrap or number < table.heads
        texts = [text_of(row[number]) for row in table.rows] if whole else []
        total += max(len(line) for text in (headers.get(name, name), *texts) for line in text.split("\n"))
    return total


def _print_cards(out: Console, table: Table) -> None:
    """Each row as a block: the cells that name it with their columns, then a line per other cell."""
    width = max((len(name) for name in table.columns[table.heads :]), default=0)
    for row in table.rows:
        named = list(zip(table.columns, row, strict=True))
        title = ", ".join(f"{name}={text_of(cell)}" for name, cell in named[: table.heads])
        _print_line(out, RichText(title, style="bold"))
        for name, cell in named[table.heads :]:
            _print_line(out, RichText(f"  {name.ljust(width)}  ") + styled(cell))


def _grid(table: Table) -> rich_table.Table:
    headers = dict(table.headers)
    grid = rich_table.Table(box=None, pad_edge=False, header_style="bold underline")
    for number, name in enumerate(table.columns):
        grid.add_column(
            RichText(headers.get(name, name)),
            justify="right" if name in table.right else "left",
            no_wrap=name in table.no_wrap or (table.cards and number < table.heads),
            overflow="fold",
        )
    for row in table.rows:
        grid.add_row(*map(styled, row))
    return grid


def styled(cell: AnyCell) -> RichText:
    """A cell in its colours."""
    if not isinstance(cell, Cell):
        return RichText(cell)
    return RichText(text_of(cell), style=f"{'bold ' * cell.strong}{_COLOURS[cell.status]}".strip())


def _flat(blocks: Iterable[Block]) -> Iterable[Block]:
    for block in shown(blocks, "terminal"):
        if isinstance(block, Section):
            yield from _flat(block.blocks)
        else:
            yield block


def _print_line(out: Console, line: RichText) -> None:
    out.print(line, soft_wrap=True)
