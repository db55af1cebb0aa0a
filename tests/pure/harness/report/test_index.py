"""The page of all results: every kind of page, links both ways, and half-written folders are named."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from harness.cli.results import indexed
from harness.lab.bugs.bug import BUGS
from harness.lab.suite.model import SuiteVerdict
from harness.lab.suite.page import write_page
from harness.model.errors import KafkaChaosError
from harness.report.index import index_page, read_entries, write_index
from harness.report.page.html import INDEX_FILE, render
from harness.report.run_page import write_report
from tests.support.builders.result_pages import bug_result, new_folder
from tests.support.builders.results import arm, result
from tests.support.hostile_text import EVIL, harmless
from tests.support.page_tags import Page

pytestmark = pytest.mark.pure


@pytest.fixture
def results(all_kinds: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(all_kinds, tmp_path / "results"))


def test_it_links_every_kind_of_page_and_they_link_back(results: Path) -> None:
    shown = Page(write_index(results).read_text())
    links = [attributes["href"] or "" for tag, attributes in shown.tags if tag == "a"]
    assert len(links) == 5
    assert "kill-leader-1%20%26%20more/report.html" in links
    assert "claims-1/001/claims.html" in links
    assert "bugs-1/bugs.html" in links
    for title in ("Runs of experiments", "Matrices", "Claims", "Known bugs", "Explorations"):
        assert title in shown.text
    assert "1 of 2 arms did not do as promised: acks=all" in shown.text
    assert "5 results, 1 not as promised" in shown.text
    for entry in read_entries(results):
        page = Page((results / entry.link.replace("%20", " ").replace("%26", "&")).read_text())
        (back,) = (
            attributes["href"] for tag, attributes in page.tags if tag == "a" and "index" in str(attributes)
        )
        depth = entry.link.count("/")
        assert back == "../" * depth + INDEX_FILE


def test_all_pages_share_one_look(results: Path) -> None:
    pages = [write_index(results), *results.rglob("report.html"), *results.rglob("*s.html")]
    assert len(pages) == 6
    styles = set()
    for page in pages:
        text = page.read_text()
        styles.update(re.findall(r"<style>.*?</style>", text, re.DOTALL))
        assert text.count("<h1>") == text.count('<p class="outcome ') == 1
        assert "default-src 'none'" in text
    assert len(styles) == 1


def test_the_page_of_bugs_says_what_was_reproduced(tmp_path: Path) -> None:
    text = write_page([BUGS[0]], [bug_result(SuiteVerdict.NOT_REPRODUCED)], tmp_path).read_text()
    assert "0 of 1 bugs: reproduced; 1 not reproduced" in text
    assert '<p class="outcome bad">' in text
    assert "<code>why</code>" in text
    harmless(
        write_page([BUGS[0]], [bug_result().model_copy(update={"reasons": (EVIL,)})], tmp_path).read_text()
    )


def test_a_half_written_folder_is_named_and_a_damaged_page_left_out(results: Path) -> None:
    (new_folder(results, "half") / "experiment.json").write_text("{")
    (new_folder(results, "foreign") / "report.html").write_text("<h1>of another program</h1>")
    (new_folder(results, "binary") / "report.html").write_bytes(
        b"\xff\x00<meta name='kafka-chaos' content='run x'>"
    )
    (new_folder(results, "late") / "report.html").write_text(
        f'<meta name="kafka-chaos" content="run {10**40}">'
    )
    new_folder(results, "folder/report.html")
    shown = Page(render(index_page(results)))
    assert "5 results" in shown.text
    assert "of another program" not in shown.text
    assert "half" in shown.text[shown.text.index("Folders without a report") :].splitlines()


def test_a_folder_of_which_only_an_arm_is_left_is_named(results: Path) -> None:
    (new_folder(results, "orphaned/acks=1") / "run.json").write_text("{")
    shown = Page(render(index_page(results)))
    assert "orphaned" in shown.text[shown.text.index("Folders without a report") :]


def test_what_stands_in_a_page_becomes_no_markup(tmp_path: Path) -> None:
    bad = result(arm()).model_copy(update={"title": EVIL})
    write_report(bad, new_folder(tmp_path, "evil"))
    harmless(render(index_page(tmp_path)))


def test_without_results_there_is_a_page_too(tmp_path: Path) -> None:
    assert "0 results, none not as promised" in render(index_page(tmp_path))
    with pytest.raises(KafkaChaosError, match="page of all results cannot be written"):
        write_index(tmp_path / "absent")


def test_a_page_that_cannot_be_written_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with indexed(tmp_path / "absent"):
        pass
    assert "warning: the page of all results cannot be written" in " ".join(capsys.readouterr().err.split())
