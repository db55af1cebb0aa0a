"""The page on findings is what the checks' docstrings and the examples of real runs say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.registry import CLASSES
from harness.cli.docgen import run_folders
from harness.cli.docgen.run_folders import FINDINGS
from harness.model.finding_class import FindingClass
from harness.model.run import RunMeta
from tests.support.builders.summaries import summary_with
from tests.support.history import run_meta

pytestmark = pytest.mark.pure


def test_the_page_is_up_to_date() -> None:
    assert not FINDINGS.drifted(), "make docs writes it anew"


def test_every_class_is_on_the_page() -> None:
    page = FINDINGS.make()["findings.md"]
    for check in CLASSES:
        assert f"\n## {check.finding.value}\n" in page
        assert check.definition() in page
        assert check.source() in page


def test_examples_are_of_the_run_that_found_most(tmp_path: Path) -> None:
    for name, count in (("few", 2), ("most", 5), ("some", 3)):
        _run(tmp_path / name, run_meta(arm=name), count)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "summary.json").write_text("{}")
    found = run_folders.examples_below(tmp_path)
    assert list(found) == [FindingClass.LOST]
    assert (found[FindingClass.LOST]["arm"], found[FindingClass.LOST]["count"]) == ("most", 5)
    assert found[FindingClass.LOST]["detail"] == "acknowledged at offset 7 of t-0; not in the log"


def test_a_class_that_was_never_seen_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folders, "_EXAMPLES", tmp_path / "findings.json")
    pages = replace(FINDINGS, folder=tmp_path)
    assert "none kept" in FINDINGS.make()["findings.md"]
    assert pages.drifted() == ["findings.md"]
    _run(tmp_path / "run", run_meta(), 4)
    run_folders._take_examples([tmp_path], more=True)
    assert pages.drifted(write=True) == ["findings.md"]
    assert pages.drifted() == []
    assert "4 of 10 sends: record 3 of producer 0: acknowledged at offset 7" in FINDINGS.make()["findings.md"]
    assert json.loads((tmp_path / "findings.json").read_text())["lost"]["kafka"] == "4.3.1"


def _run(folder: Path, meta: RunMeta, lost: int) -> None:
    folder.mkdir()
    (folder / "run.json").write_text(meta.model_dump_json())
    example = {
        "finding": "lost",
        "producer": 0,
        "seq": 3,
        "partition": 0,
        "offsets": [],
        "acked_offset": 7,
        "outcome": "acked",
        "sent_ns": 1,
        "closed_ns": 2,
        "error": None,
        "windows": "",
        "held_by": [],
        "detail": "acknowledged at offset 7 of t-0; not in the log",
    }
    told = summary_with(
        sent=10, outcomes={"acked": 10}, reads=10 - lost, findings={FindingClass.LOST: lost}
    ).model_dump(mode="json")
    folder.joinpath("summary.json").write_text(json.dumps(told | {"examples": [example]}))
