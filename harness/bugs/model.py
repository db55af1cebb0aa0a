"""What a known bug is, as data, and what came of reproducing it. Pure.

A bug is put to the test as a claim is (`harness.suite.model`): "these arms show it" is the claim, and arms
that differ in the version or the setting that fixes it are its control. So `unknown` comes first here too: if
the dangerous state was not reached in an arm, that arm shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.spec.experiment import Experiment
from harness.suite.expectations import Expectation, Observation
from harness.suite.model import ArmNarrative, Claim, ClaimArm, ClaimResult, ClaimVerdict, Role, SuiteResult


class BugArm(StrEnum):
    """Whether an arm should show the bug."""

    AFFECTED = "affected"
    FIXED = "fixed"


class BugVerdict(StrEnum):
    """Whether a bug was reproduced."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    UNKNOWN = "unknown"


_ROLES = {BugArm.AFFECTED: Role.CLAIM, BugArm.FIXED: Role.CONTROL}
_SIDES = {role: side for side, role in _ROLES.items()}
_VERDICTS = {
    ClaimVerdict.YES: BugVerdict.REPRODUCED,
    ClaimVerdict.NO: BugVerdict.NOT_REPRODUCED,
    ClaimVerdict.UNKNOWN: BugVerdict.UNKNOWN,
}


@dataclass(frozen=True)
class Bug:
    """A known bug, and how it is reproduced.

    `words` says what goes wrong, `set_up` what is done, `proof` how an arm shows that the dangerous thing
    really happened in it, `affected` and `fixed` which versions have it and which have not. `by_day`: the
    arms of its first experiment, of both sides, are short and steady enough for every change.
    """

    id: str
    title: str
    link: str
    words: str
    affected: str
    fixed: str
    set_up: str
    proof: str
    trials: tuple[ClaimArm, ...]
    by_day: bool = False

    @property
    def claim(self) -> Claim:
        """The bug as what the runner of claims runs; its arms name their Kafka versions themselves."""
        claim = Claim(self.id, self.title, self.words, self.set_up, self.trials, by_day=self.by_day)
        return Claim(**{**claim.__dict__, "only": claim.kafka})

    def of(self, side: BugArm) -> tuple[ClaimArm, ...]:
        return tuple(trial for trial in self.trials if side_of(trial.role) is side)


def arm(side: BugArm, experiment: Experiment, name: str, *expects: Expectation) -> ClaimArm:
    """An arm of a bug; the first expectation that is not `given` is what a table has room for."""
    return ClaimArm(_ROLES[side], experiment, name, expects)


def side_of(role: Role) -> BugArm:
    """What a trial's role means for a bug."""
    return _SIDES[role]


class BugArmResult(ArmNarrative):
    """What came of one arm of a bug."""

    side: BugArm

    @property
    def headline(self) -> Observation | None:
        """What a table has room for: the verdict, which is the first thing that is not only given."""
        return next((row for row in self.rows if not row.given), None)

    @property
    def sound(self) -> bool:
        """Whether the arm shows anything."""
        told = all(row.ok is not None for row in self.rows)
        return not self.doubts and told and all(row.ok for row in self.rows if row.given)


class BugResult(SuiteResult):
    """What came of reproducing a bug once; `seconds` are those of its runs, without the start of clusters."""

    verdict: BugVerdict
    reasons: tuple[str, ...]
    arms: tuple[BugArmResult, ...]
    seconds: float
    kafka: str

    def of(self, side: BugArm) -> tuple[BugArmResult, ...]:
        return tuple(one for one in self.arms if one.side is side)


def result_of(claim: ClaimResult) -> BugResult:
    """A claim's result in the words of bugs."""
    return BugResult(
        id=claim.id,
        title=claim.title,
        verdict=_VERDICTS[claim.answer],
        reasons=tuple(reason.replace("the control ", "the fixed arm ") for reason in claim.reasons),
        arms=tuple(
            BugArmResult(
                side=side_of(trial.role), **{name: getattr(trial, name) for name in ArmNarrative.model_fields}
            )
            for trial in claim.trials
        ),
        seconds=claim.seconds,
        kafka=claim.kafka,
    )


def exit_code(results: Sequence[BugResult]) -> int:
    """As of `kafka-chaos claims`: 0 all reproduced, 1 one was not, 3 something could not be told."""
    verdicts = {result.verdict for result in results}
    if BugVerdict.NOT_REPRODUCED in verdicts:
        return 1
    return 0 if verdicts == {BugVerdict.REPRODUCED} else 3
