"""What a claim is, and how the results of claims are written to claims.json."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from harness.suite.model import Role, Suite, SuiteArmResult, SuiteItem, SuiteResult, SuiteVerdict


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


class Claim(SuiteItem):
    """A claim: `words` is the claim as engineers make it, `today` says what current versions of Kafka do, and
    since when, where the claim is out of date. `by_day`: short and steady enough to run on every change."""

    suite: ClassVar[Suite] = CLAIM_SUITE

    today: str = ""
    by_day: bool = False

    def texts(self) -> dict[str, str]:
        return {"claim": self.words, "today": self.today}
