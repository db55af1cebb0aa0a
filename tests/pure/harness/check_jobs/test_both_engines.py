"""What two engines that count differently make of a run: a verdict of unknown, with both counts."""

from __future__ import annotations

import pytest

from checkers.judgement.judge import judge
from harness.check_jobs.worker import differences, second_opinion
from harness.model.errors import CheckError
from harness.model.finding_class import FindingClass
from harness.model.result import Summary, VerdictWord
from tests.support.builders.summaries import summary_with
from tests.support.history import run_meta

pytestmark = pytest.mark.pure


def by(engine: str, **fields: object) -> Summary:
    return summary_with(sent=10, engine=engine, **fields)


SPARK = by("Apache Spark 4.2.1 (local)", findings={FindingClass.LOST: 3}, check_seconds=5.0)


def test_the_same_counts_leave_the_summary_as_it_is() -> None:
    same = by("Sail 0.7.2", findings={FindingClass.LOST: 3}, check_seconds=0.4)
    assert second_opinion(SPARK, lambda: same) is SPARK


def test_other_counts_make_the_verdict_unknown_and_are_told() -> None:
    other = by("Sail 0.7.2", findings={FindingClass.LOST: 2, FindingClass.PHANTOM: 1}, lost_unexamined=2)
    assert judge(run_meta(), second_opinion(SPARK, lambda: SPARK)).verdict is VerdictWord.INVALID
    judged = judge(run_meta(), second_opinion(SPARK, lambda: other))
    assert judged.verdict is VerdictWord.UNKNOWN
    assert judged.reasons == (
        "the engines differ in findings: lost 3; phantom 0 by Apache Spark 4.2.1 (local), "
        "lost 2; phantom 1 by Sail 0.7.2",
        "the engines differ in lost_unexamined: 0 by Apache Spark 4.2.1 (local), 2 by Sail 0.7.2",
    )


def test_of_long_lists_only_what_differs_is_told() -> None:
    blame = tuple(f"line {number}" for number in range(20))
    (said,) = differences(by("one", blame=blame[1:]), by("another", blame=blame))
    assert said == "the engines differ in blame: nothing more by one, line 0 by another"
    (said,) = differences(by("one"), by("another", blame=blame))
    assert said.endswith("line 4; and 15 more by another")


def test_an_engine_that_does_not_answer_is_no_agreement() -> None:
    def gone() -> Summary:
        raise CheckError("Sail did not start")

    (said,) = second_opinion(SPARK, gone).problems
    assert said.startswith("the counts were not compared with those of a second engine: Sail did not start")
