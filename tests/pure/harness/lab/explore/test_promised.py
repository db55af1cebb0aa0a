"""How often a promise was put to the test, and the bound on its failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lab.explore.page import explore_page
from harness.lab.explore.promised import promised, tried
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord
from harness.report.page import markdown
from tests.support.builders.explorations import run_exploration
from tests.support.fake_explore_backend import FakeExploreBackend
from tests.support.history import run_meta as meta

pytestmark = pytest.mark.pure

LOST, DUPLICATE, SHARE_LOST = FindingClass.LOST, FindingClass.DUPLICATE, FindingClass.SHARE_LOST
VALID, INVALID, UNKNOWN = VerdictWord.VALID, VerdictWord.INVALID, VerdictWord.UNKNOWN


def test_what_a_run_cannot_have_or_may_have_is_no_promise() -> None:
    made = promised(meta(idempotent=True, transactional=False, readers=(), share=()))
    assert {LOST, DUPLICATE} <= set(made)
    assert not {SHARE_LOST, FindingClass.ABORTED_READ, FindingClass.COMMIT_LOST, FindingClass.SKIPPED} & set(
        made
    )
    assert FindingClass.RECOVERED not in made
    assert DUPLICATE not in promised(meta(idempotent=False))
    assert LOST not in promised(meta(promise={"lost": "any"}))
    assert FindingClass.ABORTED_READ in promised(meta(idempotent=True, transactional=True))


def test_the_bound_of_what_never_failed_is_exact() -> None:
    ((one),) = tried([(VALID, (LOST,), ())] * 59)
    assert (one.runs, one.broken) == (59, 0)
    assert one.high == pytest.approx(1 - 0.05 ** (1 / 59))  # 4.95 %: the rule of three says 5.1 %


def test_only_decided_runs_that_made_the_promise_count() -> None:
    runs = [
        (VALID, (LOST, DUPLICATE), ()),
        (VALID, (LOST,), ()),
        (INVALID, (LOST, DUPLICATE), (DUPLICATE,)),
        (INVALID, (LOST,), (LOST,)),
        (UNKNOWN, (LOST, DUPLICATE), ()),
    ]
    found = {one.finding: (one.runs, one.broken) for one in tried(runs)}
    assert found == {LOST: (4, 1), DUPLICATE: (2, 1)}
    assert [one.high for one in tried([(INVALID, (LOST,), (LOST,))] * 3)] == [1.0]


def test_the_report_has_them_of_explored_runs_only(tmp_path: Path) -> None:
    _, result = run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log"), runs=6)
    explored = [run for run in result.runs if run.violation is None]
    assert explored
    noted = result.model_copy(
        update={"runs": tuple(run.model_copy(update={"promised": (LOST,)}) for run in result.runs)}
    )
    decided = sum(run.verdict is not UNKNOWN for run in explored)
    text = markdown.render(explore_page(noted))
    assert f"| lost | {decided} |" in text
    bare = result.model_copy(
        update={"runs": tuple(run.model_copy(update={"promised": ()}) for run in result.runs)}
    )
    assert "promise: no" not in markdown.render(explore_page(bare))
