"""The files of results keep the names of their fields: claims.json and bugs.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.cli.docgen.suites import BugRuns, ClaimRuns
from harness.lab.bugs.bug import BUGS
from harness.lab.claims.claim import CLAIMS
from harness.lab.suite.model import SuiteItem
from harness.lab.suite.runner import evaluate
from tests.support.builders.finished_runs import FinishedRunFolder

pytestmark = pytest.mark.pure

COMMON = {"experiment", "arm", "folder", "doubts", "rows", "story"}


def arm_of(item: SuiteItem, folder: FinishedRunFolder) -> dict[str, Any]:
    run = folder.finished()
    place = run.folder / "item" / "experiment"
    arm = run.result.model_copy(update={"folder": "arm"})
    result = evaluate(item.suite, item.arms[0], place, arm)
    assert result.folder == "item/experiment/arm"
    return result.model_dump(mode="json")


def test_an_arm_of_a_claim_has_a_role_and_a_curve(folder: FinishedRunFolder) -> None:
    arm = arm_of(CLAIMS[0], folder)
    assert set(arm) == COMMON | {"role", "curve"}
    assert arm["role"] == "claim"


def test_an_arm_of_a_bug_has_a_side(folder: FinishedRunFolder) -> None:
    arm = arm_of(BUGS[0], folder)
    assert set(arm) == COMMON | {"side"}
    assert arm["side"] == "affected"


@pytest.mark.parametrize(
    ("runs", "file"),
    [(ClaimRuns, Path("docs/claims/results.json")), (BugRuns, Path("docs/bugs.json"))],
    ids=["claims", "bugs"],
)
def test_saved_results_are_read_and_written_unchanged(runs: Any, file: Path, tmp_path: Path) -> None:
    runs.load(file).save(tmp_path / "copy.json")
    assert (tmp_path / "copy.json").read_text() == file.read_text()
