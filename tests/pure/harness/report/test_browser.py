"""Reports in a real browser: no network, telephones, dark mode, keys, paper, names for a screen reader."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.many.matrix.page import write_pages
from harness.model.storage import write_whole
from harness.report.page import html
from harness.report.rates import rates_page
from harness.report.run_page import write_report
from tests.support.builders.matrices import SMALL, run_matrix, run_one_axis
from tests.support.builders.matrix_results import with_broken_promise
from tests.support.builders.rates import rates
from tests.support.builders.results import arm, result
from tests.support.builders.run_folders import run_folder
from tests.support.fake_backend import FakeBackend

pytestmark = [pytest.mark.pure, pytest.mark.soak]

# Six columns: a map wider than a telephone.
WIDE_FAULTS = {
    f"kill after {seconds}": {
        "faults": [{"fault": {"kill": {"target": {"leader": 0}}}, "at": seconds, "for": 2}]
    }
    for seconds in (1, 2, 3)
} | {f"none, round {number}": {"faults": []} for number in (1, 2, 3)}
BROWSER = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
DARK_BELOW, LIGHT_ABOVE = 60, 200


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("there is no chromium here: apt-get install chromium, or make test-all as root on Debian")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module", params=["experiment", "matrix", "one axis", "rates"])
def page_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    if request.param == "matrix":
        store, made = run_matrix(
            folder,
            FakeBackend(folder / "log", refuse="acks=1_fault=kill-after-1"),
            axes={"acks": SMALL["axes"]["acks"], "fault": {"levels": WIDE_FAULTS}},
        )
        return write_pages(made, store.folder)
    if request.param == "one axis":
        return write_pages(with_broken_promise(run_one_axis(folder), "acks=all", "lost"), folder)
    if request.param == "rates":
        write_whole(folder / "rates.html", html.render(rates_page(rates(), "results")))
        return folder / "rates.html"
    run_folder(folder)
    return write_report(result(arm(), arm("acks=all", False)), folder)


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Iterator[Any]:
    """Open the report under some conditions; every request but for the file itself fails the test."""
    contexts = []

    def open_(**conditions: Any) -> Any:
        context = browser.new_context(**conditions)
        contexts.append(context)
        page = context.new_page()
        page.told = []
        page.on("request", lambda request: page.told.append(request.url))
        page.on("console", lambda message: page.told.append(f"console: {message.text}"))
        page.goto(page_file.as_uri())
        assert page.told == [page_file.as_uri()]
        return page

    yield open_
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_it_fits_the_width_of_a_telephone_and_more(opened: Any, width: int) -> None:
    page = opened(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").count() == 1
    box = page.locator(".outcome").bounding_box()
    assert box["y"] < 800, "the outcome is seen without scrolling"


@pytest.mark.parametrize("page_file", ["experiment"], indirect=True)
def test_on_a_telephone_losses_and_verdicts_are_not_off_the_edge(opened: Any) -> None:
    page = opened(viewport={"width": 400, "height": 800})
    for column in ("lost", "verdict", "as promised"):
        for cell in page.locator(f'.arms td[data-label="{column}"]').all():
            box = cell.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 400, column


@pytest.mark.parametrize("page_file", ["experiment"], indirect=True)
def test_the_tables_of_evidence_fit_a_wide_window(opened: Any) -> None:
    page = opened(viewport={"width": 1280, "height": 800})
    cut = (
        "[...document.querySelectorAll('.examples, .cards')].map(e => e.closest('.scroll'))"
        ".filter(e => e.scrollWidth > e.clientWidth).map(e => e.getAttribute('aria-label'))"
    )
    assert page.evaluate(cut) == []


def brightness(page: Any, what: str, of: str) -> float:
    told = page.evaluate(f"getComputedStyle(document.querySelector('{what}'))['{of}']")
    numbers = [float(part) for part in told.partition("(")[2].rstrip(")").split(",")[:3]]
    return sum(numbers) / 3


def test_it_is_dark_in_the_dark(opened: Any) -> None:
    light, dark = opened(color_scheme="light"), opened(color_scheme="dark")
    assert brightness(light, "body", "backgroundColor") > LIGHT_ABOVE
    assert brightness(light, "body", "color") < DARK_BELOW
    assert brightness(dark, "body", "backgroundColor") < DARK_BELOW
    assert brightness(dark, "body", "color") > LIGHT_ABOVE


def test_wide_tables_are_scrolled_by_keys(opened: Any) -> None:
    page = opened(viewport={"width": 360, "height": 800})
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate(
            "document.activeElement.className === 'scroll' && "
            "document.activeElement.scrollWidth > document.activeElement.clientWidth"
        ):
            break
    else:
        pytest.fail("no wide table can be reached by the tabulator key")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowRight")
    # Asked again from here: waiting within the page needs eval, which the page's security policy forbids.
    for _ in range(100):
        if page.evaluate("document.activeElement.scrollLeft") > 0:
            break
        page.wait_for_timeout(50)
    else:
        pytest.fail("an arrow key does not scroll the wide table")


def test_a_screen_reader_has_names_for_what_it_meets(opened: Any) -> None:
    page = opened()
    assert page.evaluate("document.documentElement.lang") == "en"
    unnamed = (
        "[...document.querySelectorAll('svg[role=img], [role=group], section')].filter(e => {"
        "const ids = (e.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean);"
        "return !(e.getAttribute('aria-label') || ids.length && ids.every(i => document.getElementById(i)))"
        "}).map(e => e.outerHTML.slice(0, 80))"
    )
    assert page.evaluate(unnamed) == []
    assert page.evaluate("[...document.querySelectorAll('thead th')].every(e => e.scope === 'col')")


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Any, width: int, scheme: str) -> None:
    assert_accessible(opened(viewport={"width": width, "height": 800}, color_scheme=scheme))


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_axe_finds_nothing_on_pages_of_any_kind(
    browser: Any, all_kinds: Path, width: int, scheme: str
) -> None:
    pages = sorted(all_kinds.rglob("*.html"))
    assert len(pages) >= 6
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    for path in pages:
        page.goto(path.as_uri())
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    page.close()


def assert_accessible(page: Any) -> None:
    """All rules of axe-core, those of best practice included, with folded parts open."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    found = Axe().run(page)
    assert found.violations_count == 0, page.url + found.generate_report()
    assert len(found.response["passes"]) > 10


def test_it_prints(opened: Any) -> None:
    printed = opened().pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert len(printed) > 10_000
