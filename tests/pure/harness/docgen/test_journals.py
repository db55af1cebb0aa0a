"""docs/journals.md says of every journal exactly what its schema says."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa
import pytest

from harness.docgen import journals
from harness.model import journal

pytestmark = pytest.mark.pure


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
    text = journals.PAGE.read_text()
    assert text == journals.page(text), "run `make docs`"


def test_the_page_lists_exactly_the_schemas_columns() -> None:
    found = tables_in(journals.PAGE.read_text())
    for one in journals.JOURNALS:
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
    schemas = {name: value for name, value in vars(journal).items() if isinstance(value, pa.Schema)}
    listed = [one.schema for one in journals.JOURNALS]
    assert schemas
    assert [name for name, schema in schemas.items() if not any(schema is one for one in listed)] == []


def test_every_folder_is_on_the_page() -> None:
    text = journals.PAGE.read_text()
    names = [value for name, value in vars(journal).items() if name.endswith(("_DIR", "_FILE"))]
    assert names
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("spoil", ["missing", "unknown"])
def test_a_column_without_a_meaning_is_refused(spoil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = journals.JOURNALS[0]
    columns = dict(first.columns)
    if spoil == "missing":
        columns.pop("seq")
    else:
        columns["colour"] = "of the record"
    monkeypatch.setattr(journals, "JOURNALS", (replace(first, columns=columns),))
    with pytest.raises(ValueError, match="sends"):
        journals.tables()


def test_the_example_names_the_present_version() -> None:
    text = journals.PAGE.read_text()
    assert f'"schema_version": {journal.SCHEMA_VERSION},' in text
