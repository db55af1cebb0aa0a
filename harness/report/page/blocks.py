"""A page as data: blocks of text, lists, tables and drawings, without any markup.

Texts are plain; what stands between two backticks is code. A block says with `only` where it appears; one
without content appears nowhere, so that a page can name all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from markupsafe import Markup

Status = Literal["good", "bad", "unclear"]
Medium = Literal["terminal", "html", "markdown"]
Only = Literal[Medium, "html markdown", "terminal markdown", "terminal html markdown"]
EVERYWHERE: Only = "terminal html markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a page. It appears in the media of `only`, unless it is empty."""

    only: Only = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Cell:
    """A text in a table or a list.

    `status` colours it, `strong` makes it bold, `link` is an address, and `here` says that this is the
    address of the current page. For HTML alone: `below` is a second line, and `more` opens when it is
    pressed.
    """

    text: str
    status: Status | None = None
    strong: bool = False
    link: str = ""
    here: bool = False
    id: str = ""
    below: str = ""
    more: Section | None = None


AnyCell: TypeAlias = str | Cell


@dataclass(frozen=True, slots=True)
class Text(Block):
    """A paragraph; a `note` explains what stands beside it."""

    text: str
    note: bool = False
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class Lines(Block):
    """A list. On a terminal lines stand as they are. For HTML: `label` names links, `look` is a CSS class."""

    lines: Sequence[AnyCell]
    ordered: bool = False
    label: str = ""
    look: str = ""


@dataclass(frozen=True, slots=True)
class Table(Block):
    """A table: each row has one cell per column.

    `title` stands above it, `note` below. The cells of the columns `right` are aligned to the right, those of
    `no_wrap` are never broken into several lines, and `headers` are those of a terminal where they differ
    from the column's name. The first `heads` cells name their row. `cards` makes each row a card where the
    table is too wide: on a telephone, and on a terminal. For HTML: `look` is a CSS class.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[AnyCell]]
    title: str = ""
    note: str = ""
    right: Collection[str] = ()
    no_wrap: Collection[str] = ()
    headers: Sequence[tuple[str, str]] = ()
    heads: int = 1
    cards: bool = False
    look: str = ""


@dataclass(frozen=True, slots=True)
class Code(Block):
    """Lines that are shown as they are."""

    text: str


@dataclass(frozen=True, slots=True)
class Drawing(Block):
    """A drawing as SVG. It is not escaped, so it must not contain markup from users or brokers. `key`
    explains its colours: CSS classes, each with a text."""

    svg: Markup
    key: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Section(Block):
    """Blocks below a title. Top sections need an `id`, which is unique on the page. `badges` stand beside the
    title, and a `folded` section shows its title alone until it is opened."""

    title: str
    blocks: Sequence[Block]
    id: str = ""
    badges: Sequence[Cell] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole page. `kind` is the command that made it, `name` the experiment, matrix or menu (empty: none),
    `started_ns` its beginning in nanoseconds since the epoch (0: it has none). The page of all results leaves
    out pages that are not `listed`."""

    kind: str
    title: str
    headline: str
    status: Status
    blocks: Sequence[Block]
    name: str = ""
    started_ns: int = 0
    listed: bool = True

    @property
    def heading(self) -> str:
        """The title with the name before it."""
        return f"{self.name}: {self.title}" if self.name else self.title


def section(
    title: str,
    *blocks: Block,
    id: str = "",
    badges: Sequence[Cell] = (),
    folded: bool = False,
    only: Only = EVERYWHERE,
) -> Section:
    """A section of these blocks."""
    return Section(title, blocks, id, badges, folded, only=only)


def grid(records: Iterable[Mapping[str, AnyCell]]) -> tuple[Sequence[str], Sequence[Sequence[AnyCell]]]:
    """The columns and the rows of a table, from one mapping of column to cell per row."""
    rows = list(records)
    return (list(rows[0]) if rows else ()), [tuple(row.values()) for row in rows]


def text_of(cell: AnyCell) -> str:
    """The text of a cell."""
    return cell if isinstance(cell, str) else cell.text


def shown(blocks: Iterable[Block], medium: Medium) -> list[Block]:
    """The blocks that appear in a medium."""
    return [block for block in blocks if medium in block.only.split() and not _is_empty(block, medium)]


def _is_empty(block: Block, medium: Medium) -> bool:
    match block:
        case Section():
            return not shown(block.blocks, medium)
        case Table(rows=content) | Lines(lines=content) | Text(text=content) | Code(text=content):
            return not content
        case Drawing():
            return not block.svg
    return False


def moment(at_ns: int) -> str:
    """A time in nanoseconds since the epoch as people write it."""
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def status_of(code: int) -> Status:
    """The status of an exit code: 0 is good, 1 is bad, everything else is unclear."""
    return "good" if code == 0 else "bad" if code == 1 else "unclear"
