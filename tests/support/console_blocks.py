"""The console blocks of the documents: which commands a reader is told to type."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")],
    key=lambda path: path.relative_to(ROOT).as_posix(),
)
_ROWS_AT_ONCE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(kafka-chaos [^`]+)`")


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a page: its words, the file that it is redirected to, the output that the page shows."""

    words: tuple[str, ...]
    goes_to: str | None
    shown: tuple[str, ...]


def commands_of(block: str) -> list[Command]:
    """The commands of a block: lines that begin with `$ `, their continuations, and the output below them."""
    found: list[Command] = []
    for text in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        line, _, output = text.partition("\n")
        words = shlex.split(line, comments=True)
        goes_to = None
        if ">" in words:
            goes_to = words[words.index(">") + 1]
            words = words[: words.index(">")]
        shown = tuple(each.strip() for each in output.splitlines() if each.strip() not in ("", "..."))
        found.append(Command(tuple(words), goes_to, shown))
    return found


def blocks_of(page: Path) -> list[list[Command]]:
    """The commands of every console block of a page."""
    return [commands_of(block) for block in _ROWS_AT_ONCE.findall(page.read_text())]


def inline_of(page: Path) -> list[tuple[str, ...]]:
    """The words of every `kafka-chaos ...` that a page has in running text."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [tuple(" ".join(each.split()).split()) for each in _INLINE.findall(text)]
