"""The tables of docs/reference/journals.md, from `harness.model.journal`; the rest is written by hand."""

from __future__ import annotations

import pyarrow as pa

from harness.docgen import files
from harness.model import share_journal as _share_journal  # noqa: F401 - its journals register themselves
from harness.model.journal import JOURNALS, SCHEMA_VERSION

FOLDER, SUFFIXES = files.DOCS / "reference", ()
PAGE = FOLDER / "journals.md"
BEGIN, END = "<!-- columns:begin -->", "<!-- columns:end -->"


def page(text: str) -> str:
    """The page `text` with its tables made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = files.render("journals.md.j2", journals=JOURNALS, version=SCHEMA_VERSION, kind=_kind)
    return f"{before}{BEGIN}\n{tables}{END}{after}"


def _kind(column: pa.DataType) -> str:
    return f"list of {column.value_type}" if pa.types.is_list(column) else str(column)


def pages() -> dict[str, str]:
    """The text of the page by its name."""
    return {PAGE.name: page(PAGE.read_text())}
