"""The one look of tables on a terminal."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

Cell = str | Text


def build_table(
    columns: Iterable[str],
    rows: Iterable[Sequence[Cell]] = (),
    *,
    title: str | None = None,
    caption: str | None = None,
    right: Container[str] = (),
    no_wrap: Container[str] = (),
    headers: Mapping[str, str] | None = None,
) -> Table:
    """A table without borders. Strings are shown as they are: square brackets in them are no markup.

    Args:
        columns: the names of the columns, in order.
        rows: one sequence of cells per row, in the order of `columns`.
        title: shown above the table, in bold.
        caption: shown below the table.
        right: columns whose cells are aligned to the right.
        no_wrap: columns whose cells are never broken into several lines.
        headers: headers that differ from the name of their column.
    """
    table = Table(
        title=None if title is None else Text(title, style="bold"),
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="bold underline",
        caption=None if caption is None else Text(caption, style="table.caption"),
        caption_justify="left",
    )
    for name in columns:
        table.add_column(
            Text((headers or {}).get(name, name)),
            justify="right" if name in right else "left",
            no_wrap=name in no_wrap,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table
