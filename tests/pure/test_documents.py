"""What the documents say about the source is so: paths exist, and functions are where a document says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.model.finding_class import FindingClass
from harness.report.arms_table import _NARROW, COLUMNS
from harness.spec.experiment_files import load
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

DOCUMENTS = sorted(
    [ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md")]
    + [*ROOT.glob("docs/*.md")]
    + [path for kind in ("explanation", "how-to", "reference") for path in ROOT.glob(f"docs/{kind}/*.md")]
)
PACKAGES = ("kafka_chaos", "harness", "faults", "workloads", "checkers", "compose", "tests")
SOURCES = {".py", ".sh", ".yaml", ".j2"}
FOLDERS = "kafka_chaos|harness|faults|workloads|checkers|compose|tests|docs|examples"
MORE_OF_THE_WALK = [
    ROOT / path
    for path in (
        "workloads/records/producer/send_journal.py",
        "harness/cluster/external.py",
        "harness/model/result.py",
        "checkers/journals/load.py",
        "checkers/records/chunks.py",
        "checkers/records/find.py",
        "checkers/classes/classify.py",
        "checkers/evidence/counts.py",
        "checkers/judgement/summary.py",
    )
]
"""Modules of functions that the walk names without their file."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_exists(document: Path) -> None:
    paths = set(re.findall(rf"`((?:{FOLDERS})/[\w./*-]*)`", document.read_text()))
    missing = [path for path in paths if not any(ROOT.glob(path.rstrip("/")))]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_page_that_the_source_names_exists() -> None:
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.suffix in SOURCES]
    named = {page: path for path in sources for page in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text())}
    assert len(named) > 5
    assert {page: path.name for page, path in named.items() if not (ROOT / page).exists()} == {}


@pytest.mark.parametrize("kind", ["how-to", "reference", "explanation"])
def test_the_entry_page_of_each_kind_leads_to_all_its_pages(kind: str) -> None:
    folder = ROOT / "docs" / kind
    entry = (folder / "index.md").read_text()
    linked = {(folder / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)", entry)}
    assert {path.name for path in folder.glob("*.md") if path not in linked} == {"index.md"}
    assert f"({kind}/index.md)" in (ROOT / "docs/index.md").read_text()


def table_of(page: str, arm: str) -> list[str]:
    """The lines of the page's printed table from its header to the row of `arm`."""
    lines = (ROOT / page).read_text().splitlines()
    row = next(number for number, line in enumerate(lines) if re.match(rf"{arm} .*(?:valid|unknown)", line))
    top = max(number for number, line in enumerate(lines[:row]) if line.strip().startswith("indeter-"))
    return lines[top : row + 1]


@pytest.mark.parametrize(
    ("page", "experiment"),
    [
        ("README.md", "cut-then-kill"),
        ("docs/tutorial.md", "cut-then-kill"),
        ("docs/reference/results.md", "kill-leader"),
    ],
)
def test_a_printed_table_is_whole(page: str, experiment: str) -> None:
    """Its header is the one that `run` prints, it has every arm, and its title is the experiment's."""
    made = load(experiment)
    found = table_of(page, made.arms[-1].name)
    headings = [dict(_NARROW).get(column, column) for column in COLUMNS]
    assert found[0].split() == [heading.split("\n")[0] for heading in headings if "\n" in heading]
    assert found[1].split() == [word for heading in headings for word in heading.split("\n")[-1].split()]
    assert [line.split()[0] for line in found[2:]] == [arm.name for arm in made.arms]
    text = " ".join((ROOT / page).read_text().split())
    assert f"{made.name}: {made.title}" in text or page == "docs/tutorial.md"


@pytest.mark.parametrize(
    ("page", "experiment"),
    [
        ("README.md", "cut-then-kill"),
        ("docs/reference/results.md", "cut-then-kill"),
        ("docs/reference/results.md", "kill-leader"),
    ],
)
def test_the_numbers_of_a_printed_run_are_those_of_its_report(page: str, experiment: str) -> None:
    report = (ROOT / f"results/sample/{experiment}.html").read_text()
    arms = load(experiment).arms
    rows = table_of(page, arms[-1].name)[2:]
    assert len(rows) == len(arms)
    for row in rows:
        assert [number for number in re.findall(r"\d[\d,]+", row) if number not in report] == []


def test_the_first_page_and_the_tutorial_show_the_same_run() -> None:
    assert table_of("README.md", "acks=all") == table_of("docs/tutorial.md", "acks=all")


def test_the_first_page_shows_the_matrix_that_is_kept() -> None:
    """Its loss and its duplicates are those of the sample, one row per pair that the client accepts."""
    text = (
        (ROOT / "README.md").read_text().partition("<!-- matrix:begin -->")[2].partition("<!-- matrix:end")[0]
    )
    shown = [line.split() for line in text.splitlines() if re.search(r" (?:true|false) ", line)]
    sample = (ROOT / "results/sample/acks-idempotence.md").read_text()
    figures = sample.partition("## All figures")[2].partition("\n## ")[0]
    lines = [line for line in figures.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    kept: dict[tuple[str, str], dict[str, tuple[str, float]]] = {}
    for acks, idempotence, fault, runs, with_loss, _, _, duplicates, *_ in rows[2:]:
        if runs == "5":
            found = with_loss.replace(" of 5", ""), float(duplicates)
            kept.setdefault((acks, idempotence), {})[fault] = found
    expected = [
        [
            *pair,
            *(by[fault][0] for fault in ("kill", "pause", "partition")),
            f"{max(n for _, n in by.values()):g}",
        ]
        for pair, by in kept.items()
    ]
    assert shown == expected


def test_the_first_page_names_what_people_look_for_in_at_most_a_thousand_words() -> None:
    page = (ROOT / "README.md").read_text()
    assert len(page.splitlines()) <= 130
    assert len(page.split()) <= 1000, "a reader reads about 250 words a minute"
    for word in (
        "Testcontainers", "kafka-chaos nightly", "kafka-chaos rates", "kafka-chaos compare",
        "kafka-chaos matrix acks-idempotence", "acknowledged writes with the consumed records",
    ):  # fmt: skip
        assert word in page.replace("\n", " ")
    for word in ("**arm**", "**promise**", "**verdict**"):
        assert page.index(word) < page.index("<!-- demo:begin -->"), (
            f"{word} is explained before the first table"
        )


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


def test_classes_of_findings_are_defined_by_their_docstrings_alone() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    assert "(docs/reference/findings.md)" in page
    assert [name for name in FindingClass if f"| `{name}` |" in page] == []


def test_the_architecture_is_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().split()) < 4100


def test_contributing_is_short() -> None:
    lines = len((ROOT / "CONTRIBUTING.md").read_text().splitlines())
    assert lines <= 220, "leave out what a generated page or a test says as well"


def test_the_changelog_has_one_page_per_release() -> None:
    releases = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]
    assert releases
    assert max(len(release.splitlines()) for release in releases) <= 80


def test_every_room_is_on_the_map() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    assert {room for room in rooms if f"`harness/{room}/`" not in page} == set()
