"""The page of all results: index.html in the folder that holds the folders of runs.

It reads the beginning of the pages themselves, so that it needs no result file and knows every kind of page.
"""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

from harness.model.journal import RUN_FILE
from harness.report.html import INDEX_FILE, environment, moment, save_page

GROUPS = {
    "run": "Runs of experiments",
    "matrix": "Matrices",
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
_BEGUN = ("experiment.json", "matrix.json", "result.json", "claims.json", "bugs.json", f"*/{RUN_FILE}")
_OUTCOMES = ("good", "bad", "unclear")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One page: its kind (a key of GROUPS), its path relative to the index, and what it says first."""

    kind: str
    link: str
    started_ns: int
    title: str
    outcome: str
    headline: str

    @property
    def started(self) -> str:
        return moment(self.started_ns)


def write_index(results: Path) -> Path:
    """Write `results`/index.html anew and return its path.

    Pages that are damaged or not ours are left out; folders of runs without a page are named.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    return save_page(
        render(results),
        results / INDEX_FILE,
        what="the page of all results",
        next_step="free space or correct its permissions; the reports themselves are complete",
    )


def render(results: Path) -> str:
    """The page as HTML text."""
    entries = sorted(read_entries(results), key=lambda one: one.started_ns, reverse=True)
    shown = entries[:MOST_ENTRIES]
    with_page = {entry.link.partition("/")[0] for entry in entries}
    begun = {path.relative_to(results).parts[0] for name in _BEGUN for path in results.glob(f"*/{name}")}
    bad = sum(entry.outcome == "bad" for entry in entries)
    count = f"{len(entries)} result{'' if len(entries) == 1 else 's'}"
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            headline=f"{count}, {bad or 'none'} not as promised",
            overall="bad" if bad else "good" if entries else "unclear",
            groups=[
                (title, [one for one in shown if one.kind == kind])
                for kind, title in GROUPS.items()
                if any(one.kind == kind for one in shown)
            ],
            older=len(entries) - len(shown),
            without=sorted(name for name in begun if quote(name) not in with_page),
        )
    )


def read_entries(results: Path) -> list[IndexEntry]:
    """The pages below `results`, in no order; what cannot be read is left out."""
    found = []
    for name in PAGES:
        for depth in range(1, DEEPEST + 1):
            for path in results.glob("/".join(["*"] * depth + [name])):
                entry = _read_entry(path, quote(path.relative_to(results).as_posix()))
                if entry is not None:
                    found.append(entry)
    return found


def _read_entry(path: Path, link: str) -> IndexEntry | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            beginning = _Beginning()
            beginning.feed(file.read(_BEGINNING))
    except OSError:
        return None
    kind, _, started = beginning.about.partition(" ")
    if kind not in GROUPS or not started.isdigit():
        return None
    title = " ".join(beginning.texts["h1"].split()) or link
    headline = " ".join(beginning.texts["outcome"].split())
    try:
        moment(int(started))
    except (OverflowError, ValueError, OSError):
        return None
    return IndexEntry(kind, link, int(started), title, beginning.outcome, headline)


class _Beginning(HTMLParser):
    """What a page says first: `about` (kind and start), the first heading, and the outcome with its class."""

    def __init__(self) -> None:
        super().__init__()
        self.about = ""
        self.outcome = "unclear"
        self.texts = {"h1": "", "outcome": ""}
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        if tag == "meta" and attributes.get("name") == "kafka-chaos":
            self.about = attributes.get("content") or ""
        elif tag == "h1" and not self.texts["h1"]:
            self._inside = "h1"
        elif tag == "p" and "outcome" in classes and not self.texts["outcome"]:
            self._inside = "outcome"
            self.outcome = next((one for one in _OUTCOMES if one in classes), "unclear")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h1", "p"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside] += data
