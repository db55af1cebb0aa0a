"""Pages as Markdown: text that stays text, tables and blocks of code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

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

_MARKUP = re.compile(r"[\\`*\[\]|#]|(?<!\w)_|_(?!\w)")
"""An underscore inside a word is no markup in CommonMark."""
_ROOM = 400
"""Bytes reserved for the sentence about what was left out."""


def render(page: Page, limit: int | None = None) -> str:
    """The page as text. Parts that exceed `limit` bytes are left out from the end and counted."""
    parts = list(_parts(page))
    ends = accumulate(len(part.encode(errors="replace")) for part in parts)
    kept = [part for part, end in zip(parts, ends, strict=True) if limit is None or end <= limit - _ROOM]
    if left := len(parts) - len(kept):
        kept.append(f"\n_{left} more part(s) are left out: they would exceed {limit:,} bytes._\n")
    return "".join(kept)


def _parts(page: Page) -> Iterator[str]:
    yield f"# {escape(page.heading)}\n"
    if page.headline:
        yield f"\n{prose(page.headline)}.\n"
    yield from _blocks(page.blocks, 2)


def _blocks(blocks: Iterable[Block], level: int) -> Iterator[str]:
    for block in shown(blocks, "markdown"):
        if isinstance(block, Section):
            yield f"\n{'#' * level} {escape(block.title)}\n"
            yield from _blocks(block.blocks, level + 1)
        elif isinstance(block, Text):
            yield f"\n{prose(block.text)}\n"
        elif isinstance(block, Lines):
            yield "\n" + "".join(f"- {prose(text_of(line).strip())}\n" for line in block.lines)
        elif isinstance(block, Code):
            yield f"\n{code_block(block.text)}"
        elif isinstance(block, Table):
            title = "".join(f"\n{prose(line)}\n" for line in block.title.split("\n") if line)
            note = f"\n{prose(block.note)}\n" if block.note else ""
            yield f"{title}\n{table(block.columns, block.rows)}{note}"


def prose(text: str) -> str:
    """Text on one line in which only what stands between backticks is markup: it is code."""
    return _outside_code(text, _escaped).strip()


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with what does not stand between backticks changed."""
    pieces = re.split(r"(`[^`\n]+`)", text)
    return "".join(piece if number % 2 else change(piece) for number, piece in enumerate(pieces))


def escape(text: str) -> str:
    """Text on one line that Markdown and HTML show as it is, in tables too."""
    return _escaped(text).strip()


def _escaped(text: str) -> str:
    plain = re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\g<0>", plain)


def cell(text: str) -> str:
    """Our own Markdown as a cell of a table: code and links stay, nothing ends the cell or becomes HTML."""
    # In code Markdown shows an entity as it is written.
    return _outside_code(
        text.replace("|", "\\|").replace("\n", " "), lambda piece: piece.replace("<", "&lt;")
    )


def table(
    header: Sequence[str], rows: Iterable[Sequence[AnyCell]], encode: Callable[[str], str] = escape
) -> str:
    """A table, one line per row; `encode` makes the text of a cell Markdown (`escape` or `cell`)."""

    def encoded(one: AnyCell) -> str:
        text = encode(text_of(one))
        return f"**{text}**" if isinstance(one, Cell) and one.strong else text

    lines = [
        "|" + "".join(f" {encoded(text)} |" if text else " |" for text in texts) + "\n"
        for texts in (header, *rows)
    ]
    return "".join([lines[0], "|" + "---|" * len(header) + "\n", *lines[1:]])


def code_block(text: str) -> str:
    """Text in a code block, whose fence is longer than any row of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}\n"
