"""The journals to copy: each language has its file, and a name that is not known is told."""

from __future__ import annotations

import re

import pytest

from harness.model.errors import BadInput
from tests.support.paths import ROOT
from workloads.own.json_events import _FIELDS
from workloads.own.language_files import LANGUAGES, language_file
from workloads.own.producer_folder import FOLDER_VARIABLE, RUN_VARIABLE, TOPIC_VARIABLE
from workloads.records.record.carried_identity import IDENTITY_HEADER, identity_of
from workloads.records.record.identity import MAGIC

pytestmark = pytest.mark.pure


def test_every_file_is_of_a_language() -> None:
    files = {path.name for path in (ROOT / "workloads/own/languages").iterdir()}
    assert files == set(LANGUAGES.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_file_has_every_event_field_and_name_of_the_protocol(language: str) -> None:
    text = language_file(language)
    # An id of the record's own is taken from the log, where it is not journaled.
    optional = {"key", "begun_ns", "asked", "answered", "time_ms", "time_ns", "id"}
    fields = set().union(*_FIELDS.values()) - optional
    words = {
        *_FIELDS,
        *fields,
        FOLDER_VARIABLE,
        RUN_VARIABLE,
        TOPIC_VARIABLE,
        IDENTITY_HEADER,
        "begun",
        "over",
    }
    assert {word for word in words if not re.search(rf"\b{word}\b", text)} == set()
    assert f"{MAGIC:x}" in text.replace("_", "")
    assert re.search(r"\btime_(?:ms|ns)\b", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_file_names_the_page_and_has_no_long_lines(language: str) -> None:
    lines = language_file(language).splitlines()
    assert any("docs/how-to/own-producer.md" in line for line in lines)
    assert max(map(len, lines)) <= 120


def test_the_page_shows_the_header_that_the_reader_expects() -> None:
    """What those compare with who write the header in another language."""
    page = (ROOT / "docs/how-to/own-producer.md").read_text()
    shown = re.search(
        r"run (\d+), producer (\d+) and seq (\d+).*?value `(\w+)`.*?```text\n(\w+)\n", page, re.DOTALL
    )
    assert shown is not None
    run, producer, seq, value, header = shown.groups()
    assert identity_of(value.encode(), int(run), int(producer), int(seq)).hex() == header


def test_typescript_and_kotlin_have_the_files_of_their_neighbours() -> None:
    assert language_file("typescript") == language_file("javascript")
    assert language_file("kotlin") == language_file("java")


@pytest.mark.parametrize(
    ("language", "next_step"),
    [("rsut", "did you mean 'rust'?"), ("python", "kafka_chaos.Journal"), ("", "describes the events")],
)
def test_a_language_that_is_not_known_is_told(language: str, next_step: str) -> None:
    with pytest.raises(BadInput, match="no journal for the language") as refused:
        language_file(language)
    assert "go, javascript, java, rust, csharp" in str(refused.value.expected)
    assert next_step in str(refused.value.next_step)
