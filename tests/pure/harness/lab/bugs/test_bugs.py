"""Known bugs: each is whole, what makes its verdict, how requests are read off a log, and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.cli.docgen.suites import BUG_PAGES, BugRuns, bugs_page
from harness.lab.bugs.bug import BUG_SUITE, BUGS, Bug, BugResult
from harness.lab.suite import expect_answers, page
from harness.lab.suite.expect_groups import failed
from harness.lab.suite.expectations import Observation
from harness.lab.suite.judge import exit_code, judge
from harness.lab.suite.model import Role, SuiteVerdict, choose
from harness.lab.suite.run_evidence import FinishedRun
from harness.model.errors import BadInput
from tests.support.builders.bug_results import BROKEN, INVALID, MET, NOT_MET, SPARED, VALID, arm_result

pytestmark = pytest.mark.pure

IDS = [bug.id for bug in BUGS]


def result(affected: Observation, fixed: Observation, *more: Observation, seconds: float = 20.0) -> BugResult:
    arms = (arm_result(Role.AFFECTED, MET, affected, *more), arm_result(Role.FIXED, MET, fixed))
    verdict, reasons = judge(BUG_SUITE, arms)
    return BugResult(
        id="KIP-903",
        title="a bug",
        verdict=verdict,
        reasons=reasons,
        arms=arms,
        seconds=seconds,
        kafka="4.3.1",
    )


@pytest.mark.parametrize(
    ("affected", "fixed", "verdict"),
    [
        (INVALID, VALID, SuiteVerdict.REPRODUCED),
        (SPARED, VALID, SuiteVerdict.NOT_REPRODUCED),
        # A fix that does not hold makes the affected arm's loss no proof of this very bug.
        (INVALID, BROKEN, SuiteVerdict.UNKNOWN),
    ],
)
def test_a_bug_is_reproduced_when_both_sides_behave(
    affected: Observation, fixed: Observation, verdict: SuiteVerdict
) -> None:
    assert result(affected, fixed).verdict is verdict


def test_an_arm_in_which_nothing_dangerous_happened_shows_nothing() -> None:
    seen = result(INVALID, VALID, NOT_MET)
    assert seen.verdict is SuiteVerdict.UNKNOWN
    (arm,) = seen.of(Role.AFFECTED)
    assert not arm.sound
    assert page.shown_observation(arm) == page.NOTHING
    (fixed,) = seen.of(Role.FIXED)
    assert fixed.sound
    assert page.shown_observation(fixed) == "valid"


def test_exit_codes_are_those_of_claims() -> None:
    good, bad, unknown = result(INVALID, VALID), result(SPARED, VALID), result(INVALID, BROKEN)
    assert [exit_code(one) for one in ([good], [good, unknown], [unknown, bad], [])] == [0, 3, 1, 3]


def test_a_row_counts_the_runs_of_each_arm() -> None:
    runs = [result(INVALID, VALID), result(INVALID, VALID, seconds=31.0), result(SPARED, VALID)]
    assert page.cells(BUG_SUITE, runs) == (
        "KIP-903 a bug",
        "affected-arm: invalid: lost",
        "invalid: lost 200 2/3, valid 1/3",
        "fixed-arm: valid",
        "valid 3/3",
        "reproduced 2/3, not reproduced 1/3",
        "20-31",
    )
    assert page.reasons(runs[:2]) == []
    assert page.reasons(runs)[0] == "KIP-903: not reproduced"


@pytest.mark.parametrize("bug", BUGS, ids=IDS)
def test_a_bug_is_whole(bug: Bug) -> None:
    assert {one.role for one in bug.arms} == set(BUG_SUITE.roles), "a bug needs both sides"
    for one in bug.arms:
        assert one.arm in {arm.name for arm in one.experiment.arms}
        first = next(expectation for expectation in one.expects if not expectation.given)
        assert first.what in ("verdict", failed().what), "a table has room for the first"
        assert any(expectation.given for expectation in one.expects), "nothing proves that it was tried"
    for text in (bug.words, bug.affected, bug.fixed, bug.set_up, bug.proof):
        assert text.endswith(".")
    assert bug.link.startswith("https://")
    assert bug.pinned


@pytest.mark.parametrize("bug", BUGS, ids=IDS)
def test_affected_and_fixed_arms_take_the_same_steps(bug: Bug) -> None:
    """They differ in versions and settings alone; of KIP-966 only those that leave in the same way do."""
    steps = {
        role: {trial.experiment.model_dump_json(include={"steps", "topic"}) for trial in bug.of(role)}
        for role in BUG_SUITE.roles
    }
    assert steps[Role.AFFECTED] == steps[Role.FIXED]


def test_bugs_are_chosen_by_id_in_any_case() -> None:
    assert [one.id for one in choose(BUGS, ["kip-903", "KIP-101-LOSS", "KIP-903"])] == [
        "KIP-903",
        "KIP-101-loss",
    ]
    assert choose(BUGS, []) == BUGS
    with pytest.raises(BadInput, match="there is no bug 'KIP-93'") as raised:
        choose(BUGS, ["KIP-93"])
    assert "did you mean 'KIP-903'?" in str(raised.value)


def test_the_built_in_bugs_have_an_order_of_their_own_each() -> None:
    orders = [bug.order for bug in BUGS]
    assert orders == sorted(set(orders))
    assert min(orders) > 0


def test_the_list_needs_no_cluster() -> None:
    shown = CliRunner().invoke(app, ["bugs", "--list"])
    assert shown.exit_code == 0
    assert "KAFKA-17754" in shown.stdout
    listed = json.loads(CliRunner().invoke(app, ["bugs", "kip-903", "--list", "--json"]).stdout)
    assert [one["id"] for one in listed] == ["KIP-903"]
    assert {arm["side"] for arm in listed[0]["arms"]} == {"affected", "fixed"}


def test_a_bug_of_a_file_is_listed(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    text = CliRunner().invoke(app, ["bugs", "--show", "KIP-903"]).stdout
    mine.write_text(text.replace("id: KIP-903", "id: MINE"))
    listed = json.loads(CliRunner().invoke(app, ["bugs", str(mine), "--list", "--json"]).stdout)
    assert [one["id"] for one in listed] == ["MINE"]
    assert [arm["side"] for arm in listed[0]["arms"]] == ["affected", "fixed", "fixed"]


class Run(FinishedRun):
    """A finished run that shows what it is given."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def answer(self, ask: str, question: str, broker: int) -> dict[str, Any]:  # noqa: ARG002
        return {"detail": {"lines": self._lines}}


def line(api: str, request: dict[str, Any], response: dict[str, Any], client: str = "writer") -> str:
    header = {"requestApiKeyName": api, "clientId": client}
    text = json.dumps({"requestHeader": header, "request": request, "response": response})
    return f"[2026-11-22] DEBUG Completed request:{text},connection:a-b,totalTimeMs:1 (kafka.request.logger)"


def test_requests_are_read_off_a_brokers_log() -> None:
    commit = {"transactionalId": "t", "committed": True}
    lines = [
        line("END_TXN", commit, {"errorCode": 0}),
        line("END_TXN", commit, {"errorCode": 47}),
        line("END_TXN", {**commit, "committed": False}, {"errorCode": 0}),
        line("END_TXN", commit, {"errorCode": 0}, client="another"),
        "Completed request:{not JSON at all",
        "[2026-11-22] INFO END_TXN is what I say",
    ]
    expectation = expect_answers.answered_requests(
        "a", 1, "END_TXN", (expect_answers.TAKEN, expect_answers.REFUSED), "writer", {"committed": True}
    )
    seen = expectation.observe(Run(lines))
    assert seen.ok
    assert seen.seen == "taken, refused (INVALID_PRODUCER_EPOCH)"
    assert expectation.observe(Run(lines[:1])).ok is False
    assert expectation.observe(Run([*lines, lines[0]])).ok is False


def test_an_error_may_lie_deep_in_an_answer() -> None:
    response = {"responses": [{"partitionResponses": [{"index": 0, "errorCode": 0}, {"errorCode": 48}]}]}
    (found,) = expect_answers.parse_requests([line("PRODUCE", {}, response)])
    assert found.error == "INVALID_TXN_STATE"


@pytest.mark.parametrize("members", [{"newIsr": [1, 2, 3]}, {"newIsrWithEpochs": [{"brokerId": 2}]}])
def test_what_the_controller_answers_to_a_request_for_an_isr(members: dict[str, Any]) -> None:
    without = line("ALTER_PARTITION", {"topics": [{"partitions": [{"newIsr": [1]}]}]}, {"errorCode": 0})
    topics = [{"partitions": [{"partitionIndex": 0, **members}]}]
    refused = line("ALTER_PARTITION", {"topics": topics}, {"topics": [{"errorCode": 107}]})
    expectation = expect_answers.isr_change("a", 101, 2, "INELIGIBLE_REPLICA")
    assert expectation.observe(Run([without, refused])).ok
    assert expectation.observe(Run([without, refused])).seen == "refused (INELIGIBLE_REPLICA)"
    for other in ("NONE", "INVALID_UPDATE_VERSION"):
        assert expect_answers.isr_change("a", 101, 2, other).observe(Run([refused])).ok is False
    taken = line("ALTER_PARTITION", {"topics": topics}, {"topics": [{"errorCode": 0}]})
    assert expect_answers.isr_change("a", 101, 2).observe(Run([taken])).seen == expect_answers.TAKEN
    assert expect_answers.isr_change("a", 101, 2).observe(Run([taken])).ok
    assert expectation.observe(Run([without])).ok is None


def test_the_page_is_up_to_date() -> None:
    assert BUG_PAGES.drifted() == [], "make docs writes it anew"


def test_every_bug_has_its_section() -> None:
    page = bugs_page(BugRuns())
    for bug in BUGS:
        assert f"## {bug.id}\n" in page
        assert bug.words in page
        assert bug.link in page
    assert page.count("Not run yet.") == len(BUGS)


def test_the_page_tells_how_often_what_was_seen() -> None:
    runs = BugRuns(runs=((result(INVALID, VALID),), (result(INVALID, BROKEN),)))
    page = bugs_page(runs)
    assert "| affected-arm: invalid: lost | invalid: lost 200 2/2 | fixed-arm: valid | valid 1/2," in page
    assert "reproduced 1/2, unknown 1/2" in page
    assert "Fixed: `fixed-arm` of x: valid 1/2, invalid: lost 200 1/2. The latest run:" in page
    assert "**not as expected**" in page


def test_runs_are_taken_whole(tmp_path: Path) -> None:
    for number in range(2):
        text = json.dumps([result(INVALID, VALID, seconds=20.0 + number).model_dump(mode="json")])
        (tmp_path / f"{number}.json").write_text(text)
    runs = BugRuns.collect([tmp_path / "0.json", tmp_path / "1.json"])
    assert [one.seconds for one in runs.of("KIP-903")] == [20.0, 21.0]
    assert not any(
        arm.folder.startswith("/")
        for run in BugRuns.load(Path("docs/bugs.json")).runs
        for one in run
        for arm in one.arms
    )
