"""What a claim is, and how the results of claims are written to claims.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from harness.spec.experiment import Experiment
from harness.suite.expectations import Expectation
from harness.suite.model import Role, Suite, SuiteArm, SuiteArmResult, SuiteItem, SuiteResult, SuiteVerdict


class ClaimResult(SuiteResult):
    """The result of a claim."""

    verdict: SuiteVerdict = Field(alias="answer")
    arms: tuple[SuiteArmResult, ...] = Field(alias="trials")


CLAIM_SUITE = Suite(
    item="claim",
    roles=(Role.CLAIM, Role.CONTROL),
    passed=SuiteVerdict.YES,
    failed=SuiteVerdict.NO,
    result=ClaimResult,
    arm_result=SuiteArmResult,
)


def claim_arm(experiment: Experiment, arm: str, *expects: Expectation, curve: str = "") -> SuiteArm:
    """An arm that must come out as the claim says."""
    return SuiteArm(Role.CLAIM, experiment, arm, expects, curve)


def control_arm(experiment: Experiment, arm: str, *expects: Expectation, curve: str = "") -> SuiteArm:
    """An arm that must come out the other way."""
    return SuiteArm(Role.CONTROL, experiment, arm, expects, curve)


@dataclass(frozen=True, kw_only=True)
class Claim(SuiteItem):
    """A claim: `words` is the claim as engineers make it, `today` says what current versions of Kafka do, and
    since when, where the claim is out of date."""

    suite: ClassVar[Suite] = CLAIM_SUITE

    today: str = ""

    def texts(self) -> dict[str, str]:
        return {"claim": self.words, "today": self.today}
