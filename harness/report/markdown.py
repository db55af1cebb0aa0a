"""Writes Markdown: text that stays text, tables and blocks of code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

_MARKUP = re.compile(r"[\\`*\[\]|#]|(?<!\w)_|_(?!\w)")
"""An underscore inside a word is no markup in CommonMark."""


def escape(text: str) -> str:
    """Text on one line that Markdown and HTML show as it is, in tables too."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\g<0>", plain)


def cell(text: str) -> str:
    """Our own Markdown as a cell of a table: code and links stay, nothing ends the cell or becomes HTML."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], encode: Callable[[str], str] = escape) -> str:
    """A table, one line per row; `encode` makes the text of a cell Markdown (`escape` or `cell`)."""
    lines = [
        "|" + "".join(f" {encode(text)} |" if text else " |" for text in texts) + "\n"
        for texts in (header, *rows)
    ]
    return "".join([lines[0], "|" + "---|" * len(header) + "\n", *lines[1:]])


def code_block(text: str) -> str:
    """Text in a block that none of its lines ends."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}\n"
