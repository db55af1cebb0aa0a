"""docs/reference/journals.md says of every journal exactly what its schema says."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from harness.cli.docgen.reference import JOURNALS_PAGE, journals_page
from harness.model import application_journal, group_journal, journal, journal_format, share_journal

pytestmark = pytest.mark.pure

MODULES = (journal, group_journal, share_journal, application_journal)


def tables_in(text: str) -> dict[str, list[tuple[str, str, bool]]]:
    """What the page says: (column, type, nullable) by the journal's path."""
    found: dict[str, list[tuple[str, str, bool]]] = {}
    path = ""
    for line in text.splitlines():
        if heading := re.fullmatch(r"### `(.+)`", line):
            path = heading[1]
            found[path] = []
        elif row := re.fullmatch(r"\| `(\w+)` \| ([^|]+) \| (yes|no) \| .+ \|", line):
            found[path].append((row[1], row[2], row[3] == "yes"))
    return found


def test_the_page_is_what_the_schemas_say() -> None:
    text = JOURNALS_PAGE.read_text()
    assert text == journals_page(text), "run `make docs`"


def test_the_page_lists_exactly_the_schemas_columns() -> None:
    found = tables_in(JOURNALS_PAGE.read_text())
    for one in journal_format.JOURNALS:
        listed = [
            (name, kind.replace("list of int32", "list<item: int32>"), null)
            for name, kind, null in found.pop(one.path)
        ]
        schema = [
            (field.name, re.sub("element", "item", str(field.type)), field.nullable) for field in one.schema
        ]
        assert listed == schema, one.path
    assert not found


def test_every_schema_of_the_model_has_a_table() -> None:
    schemas = {
        name: value
        for module in MODULES
        for name, value in vars(module).items()
        if isinstance(value, pa.Schema)
    }
    listed = [one.schema for one in journal_format.JOURNALS]
    assert schemas
    assert [name for name, schema in schemas.items() if not any(schema is one for one in listed)] == []


def test_every_folder_is_on_the_page() -> None:
    text = JOURNALS_PAGE.read_text()
    names = [
        value
        for module in MODULES
        for name, value in vars(module).items()
        if name.endswith(("_DIR", "_FILE"))
    ]
    assert names
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("one", journal_format.JOURNALS, ids=lambda one: one.path)
def test_every_column_has_a_meaning(one: journal_format.JournalFormat) -> None:
    assert [column.name for column in one.columns] == one.schema.names
    assert all(column.meaning and column.null != "" for column in one.columns)


def test_the_descriptions_are_not_written_to_files() -> None:
    for one in journal_format.JOURNALS:
        assert one.schema.metadata is None
        assert all(field.metadata is None for field in one.schema)


def test_the_example_names_the_present_version() -> None:
    text = JOURNALS_PAGE.read_text()
    assert f'"schema_version": {journal.SCHEMA_VERSION},' in text
