"""What the terminal says of an arm: the faults of a finding, and findings that were expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, Example, ExperimentResult, Judgement, VerdictWord
from harness.model.run import FinalRead, RecordIds
from harness.report.arms_table import (
    ARM_AND_PROMISE,
    columns,
    example_lines,
    expected_findings,
    expected_lines,
    explanation,
    faults_of,
    indeterminate_sentence,
    row,
    table,
)
from harness.report.page.blocks import text_of
from harness.report.page.terminal import styled
from harness.report.run_page import headline, write_report
from tests.support.builders.summaries import summary_with
from tests.support.history import ns, run_meta, window

pytestmark = pytest.mark.pure

META = run_meta(
    windows=(
        window("cut-1", 0, 9),
        window("pause-1", 9, 11),
        window("kill-1", 10.000000001, 20),
        window("kill-2", 30, None),
    )
)


def _example(**changes: Any) -> Example:
    fields: dict[str, Any] = {
        "finding": FindingClass.LOST,
        "producer": 0,
        "seq": 3,
        "partition": 1,
        "offsets": (),
        "acked_offset": 7,
        "outcome": "acked",
        "sent_ns": ns(9.5),
        "closed_ns": ns(10),
        "error": None,
        "windows": "pause-1 + kill-1 + kill-2",
        "held_by": (),
        "detail": "acknowledged at offset 7 of t-1; not in the log",
    }
    return Example.model_validate(fields | changes)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "open at the acknowledgement, and begun after it": (
        {},
        "acknowledged during pause-1, gone after kill-1 + kill-2",
    ),
    "another ended between send and acknowledgement": (
        {"sent_ns": ns(8)},
        "acknowledged after cut-1 and during pause-1, gone after kill-1 + kill-2",
    ),
    "acknowledged 1 ns later": (
        {"closed_ns": ns(10.000000001)},
        "acknowledged during pause-1 + kill-1, gone after kill-2",
    ),
    "none was open": ({"sent_ns": ns(25), "closed_ns": ns(26)}, "gone after kill-2"),
    "none began later": ({"sent_ns": ns(21), "closed_ns": ns(30)}, "acknowledged during kill-2"),
    "present, not committed": (
        {"offsets": (7,), "sent_ns": ns(25), "closed_ns": ns(26)},
        "missing after kill-2",
    ),
    "vanished": (
        {"finding": FindingClass.VANISHED, "sent_ns": ns(8)},
        "during cut-1 + pause-1, gone after kill-1 + kill-2",
    ),
    "vanished without a report": (
        {"finding": FindingClass.VANISHED, "closed_ns": None},
        "faults since it was sent: pause-1 + kill-1 + kill-2",
    ),
    "an unprocessed input": (
        {"finding": FindingClass.UNPROCESSED, "windows": "kill-1 + kill-2"},
        "faults while it may have been passed over: kill-1 + kill-2",
    ),
    "an unprocessed input without faults": ({"finding": FindingClass.UNPROCESSED, "windows": ""}, ""),
    "no loss: between send and report": (
        {"finding": FindingClass.DUPLICATE, "windows": "cut-1 + pause-1"},
        "during cut-1 + pause-1",
    ),
    "no loss, no fault": ({"finding": FindingClass.DUPLICATE, "windows": ""}, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_faults_of_one_finding(name: str) -> None:
    changes, words = CASES[name]
    assert faults_of(_example(**changes), META) == words


def test_the_line_of_an_example_ends_with_its_faults() -> None:
    summary = summary_with(examples=(_example(),))
    assert example_lines(summary, META) == [
        "lost: producer 0, seq 3, partition 1: acknowledged at offset 7 of t-1; not in the log, "
        "acknowledged during pause-1, gone after kill-1 + kill-2"
    ]
    assert example_lines(summary, run_meta()) == [
        "lost: producer 0, seq 3, partition 1: acknowledged at offset 7 of t-1; not in the log"
    ]


def test_the_first_of_each_class_is_shown_before_others_and_what_is_allowed_last() -> None:
    late, twice, lost = (
        _example(finding=finding, windows="", detail=finding.value)
        for finding in (FindingClass.REORDERED, FindingClass.DUPLICATE_ID, FindingClass.LOST)
    )
    summary = summary_with(examples=(late, late, twice, twice, lost))

    def shown(**meta: Any) -> list[str]:
        arm = _arm(promise=meta.pop("promise", None), lost=1)
        arm = arm.model_copy(update={"summary": summary, "meta": arm.meta.model_copy(update=meta)})
        lines = explanation(arm, examples=3).splitlines()
        return [line.rpartition(": ")[2] for line in lines if line.startswith("  e.g.")]

    assert shown() == ["reordered", "duplicate_id", "lost"]
    assert shown(order="none") == ["duplicate_id", "lost", "duplicate_id"]
    assert shown(promise={"duplicate_id": "any", "lost": ">= 1"}) == ["reordered", "lost", "reordered"]


def test_an_arm_whose_records_have_ids_has_columns_of_them() -> None:
    plain, ids = _arm(lost=1), _arm(lost=1, duplicate_id=7)
    assert "duplicate_id" not in columns([plain])
    named = ids.model_copy(
        update={"meta": ids.meta.model_copy(update={"ids": RecordIds(place="json order")})}
    )
    names = columns([plain, named])
    assert names[6:8] == ("lost_id", "duplicate_id")
    assert [text_of(cell) for cell in row(named, names[6:8])] == ["0", "7"]
    assert [text_of(cell) for cell in row(ids, names[6:8])] == ["-", "-"]


def _arm(
    name: str = "acks=1",
    verdict: VerdictWord = VerdictWord.INVALID,
    promised: bool | None = True,
    promise: dict[str, str] | None = None,
    **findings: int,
) -> ArmResult:
    found = {FindingClass(finding): count for finding, count in (findings or {"lost": 1380}).items()}
    return ArmResult(
        folder=name,
        meta=run_meta(arm=name, promise={"lost": ">= 1"} if promise is None else promise),
        summary=summary_with(findings=found),
        judgement=Judgement(verdict=verdict, reasons=("a reason",), as_promised=promised),
    )


def _result(*arms: ArmResult) -> ExperimentResult:
    return ExperimentResult(
        experiment="kill-leader",
        title="The leader is killed",
        description="",
        arms=arms,
        started_ns=0,
        seconds=1.0,
        command="kafka-chaos run kill-leader",
    )


VALID = _arm("acks=all", VerdictWord.VALID, recovered=3)


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        (_arm(), "lost 1,380, expected"),
        (_arm(lost=2, recovered=9), "lost 2, expected"),
        (
            _arm(lost=2, duplicate=9, promise={"lost": "2", "duplicate": "any"}),
            "lost 2, duplicate 9, expected",
        ),
        (_arm(lost=2, duplicate=9), "lost 2, expected"),
        (_arm(promise={"lost": "acked in alone"}), "lost 1,380, expected"),
        (_arm(promise={"lost": "any"}), "lost 1,380, allowed"),
        (_arm(promise={"lost": "<= 2000"}), "lost 1,380, allowed"),
        (_arm(promised=False), None),
        (_arm(verdict=VerdictWord.UNKNOWN, promised=None), None),
        (VALID, None),
    ],
)
def test_an_arm_that_is_invalid_and_as_promised_was_expected(arm: ArmResult, words: str | None) -> None:
    assert expected_findings(arm) == words
    assert expected_lines(_result(arm)) == ([] if words is None else [f"{arm.folder}: {words}"])
    assert ("as promised: " in explanation(arm)) == (words is not None)


@pytest.mark.parametrize(
    ("sends", "held", "began", "words"),
    [
        (10_775, 2_687, True, "10,775 sends are indeterminate, of which the log holds 2,687"),
        (1, 0, True, "1 send is indeterminate, of which the log holds 0"),
        (0, 0, True, None),
        # A summary of an earlier version; and a final read that did not begin.
        (5, None, True, None),
        (5, 0, False, None),
    ],
)
@pytest.mark.parametrize("verdict", list(VerdictWord))
def test_sends_without_a_known_end_are_told_with_every_verdict(
    verdict: VerdictWord, sends: int, held: int | None, began: bool, words: str | None
) -> None:
    arm = _arm(verdict=verdict)
    summary = summary_with(outcomes={"indeterminate": sends}, indeterminate_present=held)
    read = FinalRead(complete=began, records=began)
    arm = arm.model_copy(
        update={"summary": summary, "meta": arm.meta.model_copy(update={"final_read": read})}
    )
    assert indeterminate_sentence(arm) == words
    assert ("indeterminate" in explanation(arm)) == (words is not None)


def _styles(result: ExperimentResult) -> list[list[str]]:
    cells = [row[-2:] for row in table(result).rows]
    return [[str(styled(row[column]).style) for row in cells] for column in (0, 1)]


def test_the_table_names_it_in_amber_below_the_title() -> None:
    result = _result(_arm(), VALID, _arm("acks=0", promised=False))
    assert str(table(result).title) == "kill-leader: The leader is killed\nacks=1: lost 1,380, expected"
    assert _styles(result) == [["yellow", "green", "red"], ["yellow", "green", "bold red"]]
    assert str(table(_result(VALID)).title) == "kill-leader: The leader is killed"


def test_the_report_names_it_in_amber(tmp_path: Path) -> None:
    result = _result(_arm(), VALID)
    assert headline(result) == "All 2 arms did as promised; acks=1: lost 1,380, expected"
    page = write_report(result, tmp_path).read_text()
    assert '<p class="outcome unclear">All 2 arms did as promised; acks=1: lost 1,380, expected.</p>' in page
    assert '<li class="unclear">acks=1: as promised (lost 1,380, expected). A reason.</li>' in page
    assert "verdict: invalid (lost 1,380, expected)" in page
    assert "badge invalid" not in page
    assert page.index(ARM_AND_PROMISE) < page.index("<table")


def test_the_report_of_a_broken_promise_or_a_valid_run_is_not_amber(tmp_path: Path) -> None:
    for arms, colour in (((VALID,), "good"), ((_arm(), _arm("acks=0", promised=False)), "bad")):
        assert f'<p class="outcome {colour}">' in write_report(_result(*arms), tmp_path).read_text()


def test_a_headline_names_a_few_of_many_expected_arms() -> None:
    text = headline(_result(*(_arm(f"arm-{number}") for number in range(9))))
    assert text.endswith("; arm-3: lost 1,380, expected; and 5 more")
