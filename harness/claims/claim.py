"""What a claim is, how results of claims are written to claims.json, and the built-in claims."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from harness.claims import plots
from harness.suite.item_files import kind_of
from harness.suite.model import Role, Suite, SuiteArmResult, SuiteItem, SuiteResult, SuiteVerdict

_KINDS = "rca"
"""First letters of claims in their order: about brokers (R), consumers (C), applications (A)."""


class ClaimResult(SuiteResult):
    """The result of a claim."""

    verdict: SuiteVerdict = Field(alias="answer")
    arms: tuple[SuiteArmResult, ...] = Field(alias="trials")


CLAIM_SUITE = Suite(
    item="claim",
    heading="Claims on Kafka's guarantees, put to the test",
    roles=(Role.CLAIM, Role.CONTROL),
    passed=SuiteVerdict.YES,
    failed=SuiteVerdict.NO,
    result=ClaimResult,
    arm_result=SuiteArmResult,
    texts={"claim": "words", "today": "today"},
    draw=plots.draw,
)


class Claim(SuiteItem):
    """A claim: `words` is the claim as engineers make it, `today` says what current versions of Kafka do, and
    since when, where the claim is out of date. `by_day`: short and steady enough to run on every change."""

    suite: ClassVar[Suite] = CLAIM_SUITE

    today: str = ""
    by_day: bool = False


CLAIM = kind_of(
    Claim,
    keys="id, title, words, set_up and arms",
    example="`kafka-chaos claims --init claim.yaml` writes an example",
)
CLAIMS: tuple[Claim, ...] = tuple(
    CLAIM.builtin(name)[0]
    for name in sorted(CLAIM.builtin_names(), key=lambda name: (_KINDS.index(name[0]), int(name[1:])))
)
"""Every claim, in order: R1 to R26 on replication, then those on consumers, C1 and following."""
