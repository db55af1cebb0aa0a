"""Pages as HTML: one file that needs no other, and runs no script."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from harness.model.errors import KafkaChaosError
from harness.model.secrets import redact
from harness.model.storage import write_whole
from harness.report.page.blocks import Cell, Page, moment, shown

REPORT_FILE, INDEX_FILE = "report.html", "index.html"
_BACKTICKS = re.compile(r"`([^`\n]+)`")
_LONGEST_BADGE = 24
"""Characters of a cell with a status up to which it is a badge; a longer one is coloured text."""


def render(page: Page, folder: Path | None = None) -> str:
    """The page as HTML text. `folder` is where it will be, for a link to the page of all results."""
    template = environment("harness.report.page").get_template("page.html.j2")
    return template.render(page=page, index=_index_link(folder), longest_badge=_LONGEST_BADGE)


def save_pages(texts: Iterable[tuple[str, str]], folder: Path, *, what: str, next_step: str) -> Path:
    """Write files by their names completely, with secrets masked, or leave the previous ones; returns the
    path of the first.

    Raises:
        KafkaChaosError: `what` cannot be written.
    """
    targets = []
    for name, text in texts:
        targets.append(folder / name)
        with KafkaChaosError.for_os_errors(
            f"{what} cannot be written",
            where=targets[-1],
            expected="a writable folder with free space",
            next_step=next_step,
        ):
            write_whole(targets[-1], redact(text))
    return targets[0]


@cache
def environment(package: str) -> Environment:
    """The templates of a package: all values are escaped, and an undefined variable is an error."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    made.filters |= {
        "prose": prose,
        "moment": moment,
        "kind": lambda block: type(block).__name__,
        "in_html": lambda blocks: shown(blocks, "html"),
        "label": lambda path: ", ".join(reversed(path[1:] or path)),
        "cell": lambda cell: cell if isinstance(cell, Cell) else Cell(cell),
    }
    return made


def prose(text: str) -> Markup:
    """Text as markup: what stands between two backticks of one line becomes code, the rest is escaped."""
    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(_printable(text)))))


def _index_link(folder: Path | None) -> str:
    """The link from a page in `folder` to the page of all results; empty if there is none above it."""
    if folder is None:
        return ""
    for up, above in enumerate(folder.resolve().parents[:3], 1):
        if (above / INDEX_FILE).is_file():
            return "../" * up + INDEX_FILE
    return ""


def _printable(value: Any) -> Any:
    """Replace control characters in text from logs; markup stays as it is."""
    if type(value) is str:
        return "".join(
            char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in value
        )
    return value
