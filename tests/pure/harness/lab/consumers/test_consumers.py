"""Consumers compared: the experiments of each situation, what is counted of a run, and the table."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from harness.lab.clients.installing import InstalledClient, named_client
from harness.lab.consumers.consumer_comparison import ConsumerArm, consumer_arms, consumer_experiments
from harness.lab.consumers.consumer_page import consumers_junit, consumers_page, write_consumer_pages
from harness.lab.consumers.consumer_participants import chosen_situations, consuming_participants
from harness.lab.consumers.consumer_result import CONSUMERS_FILE, ConsumersResult, load_consumers
from harness.lab.consumers.consumer_run import ConsumerRun, consumer_run
from harness.lab.consumers.situation import SITUATION
from harness.many.run_store import RunStore
from harness.model.application_meta import ApplicationMeta
from harness.model.errors import BadInput, JournalError, PrerequisiteMissing
from harness.model.finding_class import FindingClass
from harness.model.result import HandledRecords, MemberRecords, NotHandled, VerdictWord
from harness.report.page import markdown
from tests.support.builders.results import arm

pytestmark = pytest.mark.pure

ARMS = (
    ConsumerArm("slow", "default", ("slow",), session_seconds=60),
    ConsumerArm("quick", "default", ("quick",), session_seconds=10),
    ConsumerArm("quick", "poll", ("quick", "--poll"), {"KAFKA_CHAOS_MODE": "poll"}, session_seconds=10),
)


def test_a_client_that_was_installed_in_a_container_does_not_consume_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _tool: None)
    named = named_client("kafkajs")
    assert [one.mode for one in consumer_arms(InstalledClient(named, tmp_path))] == ["default", "each-batch"]
    with pytest.raises(PrerequisiteMissing, match="the client kafkajs needs node and npm"):
        consumer_arms(InstalledClient(named, tmp_path, "node:22"))


def ran(client: str = "one", situation: str = "stopped", **more: Any) -> ConsumerRun:
    fields: dict[str, Any] = {
        "client": client,
        "mode": "default",
        "situation": situation,
        "kafka": "4.4.0",
        "folder": "f",
        "verdict": VerdictWord.VALID,
        "reasons": ("a reason",),
        "commits": "client",
        "read_committed": False,
        "handled": 1000,
        "committed": 301,
        "next_offset": 301,
        "longest_gap": 3.2,
    }
    return ConsumerRun.model_validate(fields | more)


def compared(*runs: ConsumerRun, **more: Any) -> ConsumersResult:
    fields: dict[str, Any] = {"command": "c", "started_ns": 1, "repeat": 1, "runs": runs}
    titles = {"stopped": "an orderly stop"}
    return ConsumersResult.model_validate(
        fields | {"titles": titles, "says": {"one default": "One()"}} | more
    )


@pytest.mark.parametrize("name", SITUATION.builtin_names())
def test_each_situation_is_an_experiment_that_can_be_made(name: str) -> None:
    situation = SITUATION.builtin(name)[0]
    experiments = list(consumer_experiments(name, situation, ARMS, "4.4.0", 8))
    assert [len(experiment.arms) for experiment in experiments] == [3]
    (experiment,) = experiments
    application = experiment.application_of(experiment.arms[0])
    assert application is not None
    assert application.output.table == "deliveries"
    waits = [step.sleep.seconds for step in experiment.steps if step.sleep is not None]
    assert situation.handled_in + (60 if situation.session else 0) in waits
    assert ("later" in experiment.write_names) == situation.beside


def test_arms_are_shared_out_by_how_long_a_dead_member_stays() -> None:
    situation = SITUATION.builtin("killed-early")[0]
    experiments = list(consumer_experiments("killed-early", situation, ARMS, "4.4.0", 2))
    assert [[one.name for one in experiment.arms] for experiment in experiments] == [
        ["quick_default", "quick_poll"],
        ["slow_default"],
    ]
    waits = [experiment.steps[1].sleep for experiment in experiments]
    assert [wait.seconds for wait in waits if wait is not None] == [30, 80]


def test_the_program_is_told_what_happens() -> None:
    (experiment,) = consumer_experiments(
        "error-closed", SITUATION.builtin("error-closed")[0], ARMS, "4.4.0", 8
    )
    by_name = {one.name: experiment.application_of(one) for one in experiment.arms}
    application = by_name["quick_poll"]
    assert application is not None
    assert application.run.process is not None
    assert application.run.process[-2:] == ("quick", "--poll")
    told = {name.removeprefix("KAFKA_CHAOS_"): text for name, text in application.env.items()}
    assert (told["ENDS"], told["AFTER"]) == ("error-closed", "100")
    assert (told["MODE"], told["ISOLATION"]) == ("poll", "")
    assert (told["GROUP"], told["DELIVERIES"], told["RECORDS"]) == ("{group}", "{output}", "1000")


def test_no_situation_named_are_the_usual_ones_and_all_is_every_one() -> None:
    assert list(chosen_situations(())) == ["killed-early", "stopped", "error-closed"]
    assert tuple(chosen_situations(["all"])) == SITUATION.builtin_names()
    with pytest.raises(BadInput, match="killed-erly"):
        chosen_situations(["killed-erly"])


def test_a_client_that_only_produces_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        consuming_participants(["rskafka"], (), None, "own")
    assert refused.value.what == "the client rskafka has no program that consumes"


def test_a_program_of_the_users_own_consumes_alone() -> None:
    (arm,), left_out = consuming_participants((), (), "./consume --slowly", "own")
    assert (arm.name, arm.command, arm.commits) == ("own_default", ("./consume", "--slowly"), "either")
    assert left_out == {}


def test_a_run_is_counted_from_its_summary(tmp_path: Path) -> None:
    first = MemberRecords(
        member=0, partition=0, records=300, first_ns=1, last_ns=2, next_offset=300, committed=1000
    )
    second = first.model_copy(update={"member": 1, "records": 20})
    checked = arm("one_default", True)
    assert checked.summary is not None
    summary = checked.summary.model_copy(
        update={
            "findings": {FindingClass.UNPROCESSED: 1000, FindingClass.REPROCESSED: 5},
            "unprocessed_places": {NotHandled.COMMITTED.value: 700, "expired": 300},
            "premature_places": {"aborted": 4, "not in the log": 2},
            "handled": HandledRecords(members=(first, second), longest_gap=9.5, shared_seconds=1.5),
        }
    )
    meta = checked.meta.model_copy(update={"application": ApplicationMeta(output="o", markers=6)})
    checked = checked.model_copy(update={"summary": summary, "meta": meta})
    run = consumer_run("stopped", checked, tmp_path, tmp_path, "client", True)
    assert (run.client, run.mode, run.handled, run.skipped, run.twice) == ("one", "default", 320, 700, 5)
    assert (run.aborted, run.markers, run.committed, run.next_offset) == (4, 6, 1000, 300)
    assert (run.longest_gap, run.shared_seconds) == (9.5, 1.5)


@pytest.mark.parametrize(
    ("told", "whose"),
    [
        ({}, "-"),
        ({"skipped": 7, "skipped_by": {NotHandled.COMMITTED: 7}}, "the client's"),
        ({"skipped": 7, "skipped_by": {NotHandled.COMMITTED: 7}, "commits": "program"}, "the program's"),
        (
            {"skipped": 7, "skipped_by": {NotHandled.COMMITTED: 7}, "commits": "either"},
            "the client's or the program's",
        ),
        ({"skipped": 1, "skipped_by": {NotHandled.FAILED: 1}}, "the program's"),
        ({"skipped": 1, "skipped_by": {NotHandled.JUMPED: 1}, "commits": "program"}, "the client's"),
        ({"skipped": 1, "skipped_by": {NotHandled.NOT_REACHED: 1}}, "not known"),
        ({"aborted": 20}, "-"),
        ({"aborted": 20, "read_committed": True}, "the client's"),
        ({"markers": 2, "read_committed": True}, "the client's"),
    ],
)
def test_whose_doing_it_was(told: dict[str, Any], whose: str) -> None:
    (cell,) = compared(ran(**told)).cells
    assert cell.whose == whose


def test_the_table_has_a_row_for_each_client_and_marks_what_was_skipped() -> None:
    skipped = {NotHandled.COMMITTED: 697}
    result = compared(
        ran(),
        ran("two", skipped=697, skipped_by=skipped, committed=1000),
        ran("three", verdict=VerdictWord.UNKNOWN, reasons=("not drained",)),
    )
    text = markdown.render(consumers_page(result))
    assert "| two | default | 1 | 1,000 / 301 | **697** |" in text
    assert "the client's" in text
    assert "three, default, stopped: a run proves nothing: not drained" in text
    assert result.exit_code() == 3
    assert compared(ran()).exit_code() == 0


def test_ci_is_told_what_at_least_once_delivery_does_not_allow() -> None:
    skipped = {"skipped": 7, "skipped_by": {NotHandled.COMMITTED.value: 7}}
    result = compared(
        ran(),
        ran("two", **skipped),
        ran("three", aborted=5),
        ran("four", aborted=5, read_committed=True),
        ran("five", verdict=VerdictWord.UNKNOWN, reasons=("not drained",)),
    )
    suite = Xml.fromstring(consumers_junit(result).encode())[0]
    outcomes = {case.get("classname"): [child.get("message") for child in case] for case in suite}
    assert outcomes == {
        "one.default": [],
        "two.default": ["7 records were never handled (committed before it was handled 7)"],
        "three.default": [],
        "four.default": ["5 records of aborted transactions were handled"],
        "five.default": ["undecided: the run proves nothing"],
    }
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "2", "1")
    assert compared(ran("two", **skipped)).exit_code(("two",)) == 1
    assert compared(ran("two", **skipped)).exit_code(("one",)) == 0


def test_a_comparison_is_kept_and_read_again(tmp_path: Path) -> None:
    result = compared(ran())
    RunStore[Any](tmp_path).write(CONSUMERS_FILE, result)
    assert load_consumers(tmp_path) == result
    assert write_consumer_pages(result, tmp_path).name == "report.html"
    with pytest.raises(JournalError, match="no comparison of consumers"):
        load_consumers(tmp_path / "elsewhere")
