"""The page of all results: index.html in the folder that holds the folders of runs.

It reads the beginning of the pages themselves, so that it needs no result file and knows every kind of page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from itertools import product
from pathlib import Path
from typing import cast
from urllib.parse import quote

from harness.model.journal import RUN_FILE
from harness.report.page.blocks import Cell, Lines, Page, Status, Table, Text, moment, section
from harness.report.page.html import INDEX_FILE, render, save_pages

GROUPS = {
    "run": "Runs of experiments",
    "matrix": "Matrices",
    "configs": "Settings compared",
    "clients": "Clients compared",
    "claims": "Claims",
    "bugs": "Known bugs",
    "explore": "Explorations",
}
PAGES = ("report.html", "claims.html", "bugs.html")
DEEPEST = 3
"""How far below the folder of results pages are looked for."""
MOST_ENTRIES = 500
_BEGINNING = 64 * 1024
"""Characters of a page that are read: its style comes before its outcome."""
_ABOUT = re.compile(r'<meta name="kafka-chaos" content="(?P<kind>\w+) (?P<started>\d{1,30})">')
_TITLE = re.compile(r"<h1>(?P<text>.*?)</h1>", re.DOTALL)
_OUTCOME = re.compile(r'<p class="outcome (?P<status>good|bad|unclear)">(?P<text>.*?)</p>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_BEGUN = ("experiment.json", "matrix.json", "result.json", "claims.json", "bugs.json", f"*/{RUN_FILE}")
_THEIR_REPORTS = "their reports are in the folders beside this file."
_WITHOUT = (
    "Their run is under way, or it was interrupted. `kafka-chaos check FOLDER` judges what an experiment has "
    "written so far."
)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One page: its kind (a key of GROUPS), its path relative to the index, and what it says first."""

    kind: str
    link: str
    started_ns: int
    title: str
    outcome: Status
    headline: str


def write_index(results: Path) -> Path:
    """Write `results`/index.html anew and return its path.

    Pages that are damaged or not ours are left out; folders of runs without a page are named.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    return save_pages(
        [(INDEX_FILE, render(index_page(results)))],
        results,
        what="the page of all results",
        next_step="free space or correct its permissions; the reports themselves are complete",
    )


def index_page(results: Path) -> Page:
    """The page of all results below this folder."""
    entries = sorted(read_entries(results), key=lambda entry: entry.started_ns, reverse=True)
    with_page = {entry.link.partition("/")[0] for entry in entries}
    begun = {path.relative_to(results).parts[0] for name in _BEGUN for path in results.glob(f"*/{name}")}
    without = sorted(name for name in begun if quote(name) not in with_page)
    bad = sum(entry.outcome == "bad" for entry in entries)
    older = len(entries) - MOST_ENTRIES
    return Page(
        kind="results",
        title="All results",
        headline=f"{len(entries)} result{'' if len(entries) == 1 else 's'}, {bad or 'none'} not as promised",
        status="bad" if bad else "good" if entries else "unclear",
        listed=False,
        blocks=(
            *(
                section(title, _table(kind, entries[:MOST_ENTRIES]), id=kind)
                for kind, title in GROUPS.items()
            ),
            Text(f"{older} older results are not listed; {_THEIR_REPORTS}" if older > 0 else "", note=True),
            section(
                "Folders without a report",
                Text(_WITHOUT if without else "", note=True),
                Lines([f"`{name}`" for name in without]),
                id="without",
            ),
        ),
    )


def _table(kind: str, entries: Sequence[IndexEntry]) -> Table:
    rows = [
        (Cell(entry.title, link=entry.link), moment(entry.started_ns), Cell(entry.headline, entry.outcome))
        for entry in entries
        if entry.kind == kind
    ]
    return Table(("result", "started", "outcome"), rows, cards=True)


def read_entries(results: Path) -> list[IndexEntry]:
    """The pages below `results`, in no order; what cannot be read is left out."""
    folders = ("*/" * depth for depth in range(1, DEEPEST + 1))
    paths = (path for name, below in product(PAGES, folders) for path in results.glob(f"{below}{name}"))
    entries = (_read_entry(path, quote(path.relative_to(results).as_posix())) for path in paths)
    return [entry for entry in entries if entry is not None]


def _read_entry(path: Path, link: str) -> IndexEntry | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            beginning = file.read(_BEGINNING)
    except OSError:
        return None
    about, title, outcome = (pattern.search(beginning) for pattern in (_ABOUT, _TITLE, _OUTCOME))
    if about is None or about["kind"] not in GROUPS:
        return None
    started_ns = int(about["started"])
    try:
        moment(started_ns)
    except (OverflowError, ValueError, OSError):
        return None
    return IndexEntry(
        about["kind"],
        link,
        started_ns,
        _text_of(title["text"] if title else "") or link,
        cast(Status, outcome["status"]) if outcome else "unclear",
        _text_of(outcome["text"] if outcome else ""),
    )


def _text_of(markup: str) -> str:
    return " ".join(unescape(_TAG.sub("", markup)).split())
