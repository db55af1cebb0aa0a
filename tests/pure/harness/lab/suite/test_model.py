"""The verdict on an item, the exit codes, and the rows of the table."""

from __future__ import annotations

import pytest

from harness.lab.claims.claim import CLAIM_SUITE, ClaimResult
from harness.lab.suite import page
from harness.lab.suite.expectations import Observation
from harness.lab.suite.judge import exit_code, judge
from harness.lab.suite.model import Role, SuiteArmResult, SuiteVerdict

pytestmark = pytest.mark.pure

ROLES = CLAIM_SUITE.roles
GOOD = Observation(what="lost", expected="500", seen="500", ok=True)
BAD = Observation(what="lost", expected="500", seen="499", ok=False)
UNKNOWN = Observation(what="lost", expected="500", seen="not checked", ok=None)
NOT_MET = Observation(what="acked", expected="500", seen="12", ok=False, given=True)
MET = Observation(what="acked", expected="500", seen="500", ok=True, given=True)


def arm_result(role: Role, *rows: Observation, doubts: tuple[str, ...] = ()) -> SuiteArmResult:
    return SuiteArmResult(role=role, experiment="x", arm=f"{role}-arm", folder="f", doubts=doubts, rows=rows)


def claim_and_control(claim: Observation, control: Observation) -> list[SuiteArmResult]:
    return [arm_result(Role.CLAIM, MET, claim), arm_result(Role.CONTROL, MET, control)]


def test_yes_when_both_behave() -> None:
    assert judge(CLAIM_SUITE, claim_and_control(GOOD, GOOD)) == (SuiteVerdict.YES, ())


def test_no_when_the_claim_comes_out_otherwise() -> None:
    verdict, reasons = judge(CLAIM_SUITE, claim_and_control(BAD, GOOD))
    assert verdict is SuiteVerdict.NO
    assert reasons == ("claim-arm: lost: expected 500, seen 499",)


def test_a_control_that_does_not_behave_is_unknown() -> None:
    verdict, reasons = judge(CLAIM_SUITE, claim_and_control(GOOD, BAD))
    assert verdict is SuiteVerdict.UNKNOWN
    assert reasons == (
        "the control arm control-arm does not come out as expected: lost: expected 500, seen 499",
    )


def test_a_control_that_does_not_behave_hides_a_no() -> None:
    assert judge(CLAIM_SUITE, claim_and_control(BAD, BAD))[0] is SuiteVerdict.UNKNOWN


@pytest.mark.parametrize("role", ROLES)
def test_a_run_that_proves_nothing_is_unknown(role: Role) -> None:
    arms = [arm_result(one, GOOD, doubts=("the run did not finish",) if one is role else ()) for one in ROLES]
    verdict, reasons = judge(CLAIM_SUITE, arms)
    assert verdict is SuiteVerdict.UNKNOWN
    assert reasons == (f"{role}-arm: the run did not finish",)


@pytest.mark.parametrize("role", ROLES)
def test_a_precondition_that_is_not_met_is_unknown(role: Role) -> None:
    arms = [arm_result(one, NOT_MET if one is role else MET, GOOD) for one in ROLES]
    verdict, reasons = judge(CLAIM_SUITE, arms)
    assert verdict is SuiteVerdict.UNKNOWN
    assert reasons == (f"{role}-arm: acked: expected 500, seen 12",)


def test_a_precondition_that_is_not_met_hides_a_no() -> None:
    assert (
        judge(CLAIM_SUITE, [arm_result(Role.CLAIM, NOT_MET, BAD), arm_result(Role.CONTROL, GOOD)])[0]
        is SuiteVerdict.UNKNOWN
    )


@pytest.mark.parametrize("role", ROLES)
def test_a_missing_observation_is_unknown(role: Role) -> None:
    arms = [arm_result(one, UNKNOWN if one is role else GOOD) for one in ROLES]
    assert judge(CLAIM_SUITE, arms)[0] is SuiteVerdict.UNKNOWN


@pytest.mark.parametrize("role", ROLES)
def test_a_claim_without_one_of_its_roles_is_unknown(role: Role) -> None:
    assert judge(CLAIM_SUITE, [arm_result(role, GOOD)])[0] is SuiteVerdict.UNKNOWN
    # Preconditions alone show nothing of a role either.
    assert judge(
        CLAIM_SUITE, [arm_result(role, GOOD), *(arm_result(one, MET) for one in ROLES if one is not role)]
    )[0] is (SuiteVerdict.UNKNOWN)


def result(answer: SuiteVerdict) -> ClaimResult:
    return ClaimResult(
        id="R1",
        title="a claim",
        verdict=answer,
        reasons=() if answer is SuiteVerdict.YES else ("why",),
        arms=tuple(claim_and_control(GOOD, GOOD)),
        seconds=12.4,
        kafka="4.3.1",
    )


def test_exit_codes_are_those_of_run() -> None:
    yes, no, unknown = (
        result(answer) for answer in (SuiteVerdict.YES, SuiteVerdict.NO, SuiteVerdict.UNKNOWN)
    )
    assert exit_code([yes, yes]) == 0
    assert exit_code([yes, unknown]) == 3
    assert exit_code([no, unknown, yes]) == 1
    assert exit_code([]) == 3


def test_a_row_says_what_was_expected_and_seen_of_both_roles() -> None:
    assert page.cells(CLAIM_SUITE, [result(SuiteVerdict.YES)]) == (
        "R1 a claim",
        "claim-arm: lost: 500",
        "500",
        "control-arm: lost: 500",
        "500",
        "yes",
        "12",
    )
    assert page.reasons([result(SuiteVerdict.YES)]) == []
    assert page.reasons([result(SuiteVerdict.NO)]) == ["R1: no", "  - why", "  see f"]


def test_a_row_shows_what_is_not_as_expected() -> None:
    assert arm_result(Role.CLAIM, MET, GOOD, BAD).headline == BAD
    assert arm_result(Role.CLAIM, MET, GOOD, UNKNOWN).headline == UNKNOWN
    assert arm_result(Role.CLAIM, MET, GOOD).headline == GOOD
    assert arm_result(Role.CLAIM, NOT_MET).headline is None
