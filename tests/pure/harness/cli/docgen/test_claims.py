"""The claims' documentation is what their definitions say, and what runs have shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.docgen.suites import CLAIM_PAGES, ClaimRuns, claim_page, overview
from harness.lab.claims.claim import CLAIM_SUITE, CLAIMS, ClaimResult
from harness.lab.suite.expectations import Observation
from harness.lab.suite.model import SuiteArmResult, SuiteVerdict, choose

pytestmark = pytest.mark.pure

CLAIM = choose(CLAIMS, ["R12"])[0]


def a_result(answer: SuiteVerdict, seconds: float, seen: str = "500") -> ClaimResult:
    row = Observation(what="of 1,000 acked records lost", expected="500", seen=seen, ok=seen == "500")
    trials = tuple(
        SuiteArmResult(role=role, experiment="r12-cut", arm="acks=1", folder="f", doubts=(), rows=(row,))
        for role in CLAIM_SUITE.roles
    )
    reasons = () if answer is SuiteVerdict.YES else ("because | of this",)
    return ClaimResult(
        id="R12",
        title=CLAIM.title,
        verdict=answer,
        reasons=reasons,
        arms=trials,
        seconds=seconds,
        kafka="4.3.1",
    )


def test_the_generated_pages_are_up_to_date() -> None:
    assert CLAIM_PAGES.drifted() == [], "make docs writes them anew"


def test_every_claim_has_a_page_with_its_words_and_steps() -> None:
    for claim in CLAIMS:
        page = claim_page(claim, ClaimRuns())
        assert claim.words in page
        assert "Not run yet." in page
        for experiment, _ in claim.experiments():
            assert experiment.title in page
        assert f"`kafka-chaos claims {claim.id}`" in page


def test_what_was_seen_is_told_with_how_often() -> None:
    runs = ClaimRuns(
        runs=((a_result(SuiteVerdict.YES, 61.2),), (a_result(SuiteVerdict.UNKNOWN, 75.0, "499"),))
    )
    page = claim_page(CLAIM, runs)
    assert "Verdicts: yes 1/2, unknown 1/2, on Kafka 4.3.1." in page
    assert "| of 1,000 acked records lost | 500 | 499 | **not as expected** |" in page
    assert "- because \\| of this" in page
    table = overview(runs)
    assert "| acks=1: 499 | " not in table
    assert "acks=1: of 1,000 acked records lost: 500 | 499 |" in table
    assert "| yes 1/2, unknown 1/2 | 61-75 |" in table
    assert "| [R6](R6.md) " in table
    assert "not run yet" in table


def test_runs_are_taken_whole_and_hold_no_path_of_a_machine(tmp_path: Path) -> None:
    for number in range(2):
        text = json.dumps([a_result(SuiteVerdict.YES, 60.0 + number).model_dump(mode="json")])
        (tmp_path / f"{number}.json").write_text(text)
    runs = ClaimRuns.collect([tmp_path / "0.json", tmp_path / "1.json"])
    assert [result.seconds for result in runs.of("R12")] == [60.0, 61.0]
    saved = ClaimRuns.load(Path("docs/claims/results.json"))
    assert not any(
        trial.folder.startswith("/") for run in saved.runs for result in run for trial in result.arms
    )
