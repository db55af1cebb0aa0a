"""The page of applications counts runs, and each run once."""

from __future__ import annotations

import pytest

from harness.cli.docgen.run_folders import APPLICATIONS, SeenRun, merged, result_table

pytestmark = pytest.mark.pure

_RUN = SeenRun(
    run_id=1,
    application="kafka-streams",
    guarantee="at-least-once",
    experiment="killed",
    arm="at-least-once",
    what="it is killed",
    inputs=9000,
    unprocessed=0,
    reprocessed=992,
    verdict="valid",
)
_OTHER = _RUN.model_copy(update={"run_id": 2, "reprocessed": 1924})


def _row(*runs: SeenRun) -> str:
    return result_table(runs).splitlines()[-1]


def test_the_page_is_up_to_date() -> None:
    assert APPLICATIONS.drifted() == [], "make docs writes it anew"


def test_a_row_has_the_least_and_the_most_of_its_runs() -> None:
    expected = "| kafka\\-streams | at\\-least\\-once | it is killed | 9,000 | 0 | 992\\-1,924 | valid | 2 |"
    assert _row(_RUN, _OTHER).replace("\\", "") == expected.replace("\\", "")


def test_different_verdicts_are_counted() -> None:
    bad = _OTHER.model_copy(update={"verdict": "invalid"})
    worse = bad.model_copy(update={"run_id": 3})
    assert "invalid 2, valid 1" in _row(_RUN, bad, worse)


def test_another_guarantee_or_arm_is_another_row() -> None:
    other = _RUN.model_copy(update={"run_id": 2, "guarantee": "exactly-once"})
    assert len(result_table([_RUN, other]).splitlines()) == 4


def test_a_run_counts_once_however_often_it_is_taken() -> None:
    assert merged([_RUN, _OTHER], [_RUN]) == [_RUN, _OTHER]
