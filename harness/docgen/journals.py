"""The tables of docs/reference/journals.md, from where journals are defined; the rest is by hand."""

from __future__ import annotations

import pyarrow as pa

from harness.docgen import files
from harness.model import application_journal, journal, share_journal
from harness.model.journal import SCHEMA_VERSION
from harness.model.journal_format import JOURNALS

FOLDER, SUFFIXES = files.DOCS / "reference", ()
PAGE = FOLDER / "journals.md"
_SCHEMAS = [one for module in (journal, application_journal, share_journal) for one in vars(module).values()]
"""What these modules define, among it the schemas, in the order of the page."""
BEGIN, END = "<!-- columns:begin -->", "<!-- columns:end -->"


def page(text: str) -> str:
    """The page `text` with its tables made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    journals = [one for schema in _SCHEMAS for one in JOURNALS if one.schema is schema]
    tables = files.render("journals.md.j2", journals=journals, version=SCHEMA_VERSION, kind=_kind)
    return f"{before}{BEGIN}\n{tables}{END}{after}"


def _kind(column: pa.DataType) -> str:
    return f"list of {column.value_type}" if pa.types.is_list(column) else str(column)


def pages() -> dict[str, str]:
    """The text of the page by its name."""
    return {PAGE.name: page(PAGE.read_text())}
