"""What a checker of accessibility finds without a browser: contrast, names, ids, headings, in all pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from harness.report.index import write_index
from harness.report.page.html import render
from harness.report.rates import rates_page
from harness.report.run_page import write_report
from tests.support.builders.rates import rates
from tests.support.builders.results import arm, result
from tests.support.builders.run_folders import findings, run_folder

pytestmark = pytest.mark.pure

CSS = Path("harness/report/page/templates/page.css")
TEXT_ON = [
    *((ink, paper) for ink in ("ink", "soft", "good", "bad", "unclear", "link") for paper in ("paper",)),
    *((f"{word}", f"{word}-paper") for word in ("good", "bad", "unclear")),
    *(("ink", paper) for paper in ("good-paper", "bad-paper", "panel", "success-fill", "no-leader")),
    *(("ink", f"broker-{number}") for number in range(8)),
    ("soft", "panel"),
]
"""Colours of text, and the grounds on which they stand."""


def colours(scheme: str) -> dict[str, str]:
    """The variables of a colour scheme; print is not one."""
    text = (Path(__file__).parents[4] / CSS).read_text()
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    return dict(
        re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light if scheme == "light" else dark.split("@media")[0])
    )


def luminance(colour: str) -> float:
    """Relative luminance. Source: WCAG 2.2, definition of relative luminance."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "paper"), TEXT_ON)
def test_text_has_enough_contrast(scheme: str, ink: str, paper: str) -> None:
    """At least 4.5 to 1. Source: WCAG 2.2, success criterion 1.4.3."""
    known = colours(scheme)
    bright, dim = sorted((luminance(known[ink]), luminance(known[paper])), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= 4.5


class Outline(HTMLParser):
    """Ids, references to ids, headings, landmarks and empty headers of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.levels: list[int] = []
        self.unnamed: list[str] = []
        self.names: list[str] = []
        self.empty_headers = 0
        self._header: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.references += found.get("aria-labelledby", "").split() + found.get("popovertarget", "").split()
        self.references += [found["href"][1:]] if found.get("href", "").startswith("#") else []
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag in ("section", "nav") or found.get("role") in ("region", "group", "dialog", "img"):
            name = found.get("aria-label") or found.get("aria-labelledby")
            titled = found.get("role") == "img" and not name
            if not name and not titled:
                self.unnamed.append(tag)
            elif name and found.get("role") != "img":
                self.names.append(f"{tag} {found.get('role', '')} {name}")
        if tag == "th":
            self._header = ""

    def handle_data(self, data: str) -> None:
        if self._header is not None:
            self._header += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "th" and self._header is not None:
            self.empty_headers += not self._header.strip()
            self._header = None


@pytest.fixture(scope="module")
def pages(all_kinds: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("drawn")
    findings(run_folder(folder / "acks=1"), ("lost", 2.0, 2.3), ("duplicate", 0.5, 0.6))
    files = [write_index(all_kinds), write_report(result(arm(), arm("acks=all", False)), folder)]
    files += [*all_kinds.rglob("report.html"), *all_kinds.rglob("claims.html"), *all_kinds.rglob("bugs.html")]
    charts = {"rates": render(rates_page(rates(), "results"))}
    return {str(file): file.read_text() for file in files} | charts


@pytest.mark.parametrize(
    "problem",
    [
        lambda seen: [one for one, count in Counter(seen.ids).items() if count > 1],
        lambda seen: [one for one in seen.references if one not in seen.ids],
        lambda seen: [after for before, after in pairwise(seen.levels) if after - before > 1],
        lambda seen: seen.levels[:1] != [1] or seen.levels.count(1) != 1,
        lambda seen: seen.unnamed,
        lambda seen: [one for one, count in Counter(seen.names).items() if count > 1],
        lambda seen: seen.empty_headers,
    ],
    ids=[
        "equal ids",
        "dead references",
        "skipped levels",
        "first heading",
        "no name",
        "equal names",
        "empty th",
    ],
)
def test_pages_have_no(problem: Callable[[Outline], object], pages: dict[str, str]) -> None:
    assert len(pages) == 8
    assert {file: found for file, text in pages.items() if (found := problem(Outline(text)))} == {}
