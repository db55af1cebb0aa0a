"""What the documents say about the source is so: paths exist, and functions are where a document says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

DOCUMENTS = sorted(
    [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")]
    + [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/explanation/*.md"), *ROOT.glob("docs/how-to/*.md")]
)
FOLDERS = "kafka_chaos|harness|faults|workloads|checkers|compose|tests|docs|examples"
NOT_THERE = {"faults/freeze_disk.py"}
"""Files that CONTRIBUTING.md adds as an example."""
MORE_OF_THE_WALK = [
    ROOT / path
    for path in (
        "workloads/producer/send_journal.py",
        "harness/cluster/external.py",
        "harness/model/result.py",
        "checkers/journals/load.py",
        "checkers/facts/measure.py",
        "checkers/judgement/summary.py",
    )
]
"""Modules of functions that the walk names without their file."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_exists(document: Path) -> None:
    paths = set(re.findall(rf"`((?:{FOLDERS})/[\w./*-]*)`", document.read_text()))
    missing = [path for path in paths - NOT_THERE if not any(ROOT.glob(path.rstrip("/")))]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def defined(name: str, text: str) -> bool:
    """Whether every part of `Class.function` is defined in the source `text`."""
    return all(re.search(rf"^\s*(?:def|class) {part}\b", text, re.MULTILINE) for part in name.split("."))


def test_the_walk_names_functions_that_are_there() -> None:
    text = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
    walk = text.partition("## One run")[2].partition("## ")[0]
    sources = {path: (ROOT / path).read_text() for path in re.findall(r"`([\w/]+\.py)`", walk)}
    names = {
        name
        for name in re.findall(r"`([A-Za-z_]+(?:\.[a-z_]+)?)`", walk)
        if not name.endswith((".json", ".yaml"))
    }
    assert len(names) > 30
    everything = "\n".join([*sources.values(), *(path.read_text() for path in MORE_OF_THE_WALK)])
    assert [name for name in sorted(names) if not defined(name, everything)] == []
    pairs = re.findall(r"`([A-Za-z_.]+)`,? (?:in |\(|\(`[^`]+`, )`([\w/]+\.py)`", walk)
    assert len(pairs) > 10
    assert [(name, path) for name, path in pairs if not defined(name, sources[path])] == []


def test_the_architecture_is_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().split()) < 3500


def test_every_room_is_on_the_map() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    assert {room for room in rooms if f"`harness/{room}/`" not in page} == set()
