"""What a known bug is, as data, and what came of reproducing it. Pure.

A bug is put to the test as a claim is (`harness.claims.model`): "these arms show it" is the claim, and arms
that differ in the version or the setting that fixes it are its control. So `unknown` comes first here too: if
the dangerous state was not reached in an arm, that arm shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.claims.expectations import Expectation, Seen
from harness.claims.model import Answer, ArmTold, Claim, ClaimResult, Result, Role, Trial
from harness.spec.experiment import Experiment


class Side(StrEnum):
    """Whether an arm should show the bug."""

    AFFECTED = "affected"
    FIXED = "fixed"


class Verdict(StrEnum):
    """Whether a bug was reproduced."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    UNKNOWN = "unknown"


_ROLES = {Side.AFFECTED: Role.CLAIM, Side.FIXED: Role.CONTROL}
_SIDES = {role: side for side, role in _ROLES.items()}
_VERDICTS = {
    Answer.YES: Verdict.REPRODUCED,
    Answer.NO: Verdict.NOT_REPRODUCED,
    Answer.UNKNOWN: Verdict.UNKNOWN,
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
    trials: tuple[Trial, ...]
    by_day: bool = False

    @property
    def claim(self) -> Claim:
        """The bug as what the runner of claims runs; its arms name their Kafka versions themselves."""
        claim = Claim(self.id, self.title, self.words, self.set_up, self.trials, by_day=self.by_day)
        return Claim(**{**claim.__dict__, "only": claim.kafka})

    def of(self, side: Side) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if side_of(trial.role) is side)


def arm(side: Side, experiment: Experiment, name: str, *expects: Expectation) -> Trial:
    """An arm of a bug; the first expectation that is not `given` is what a table has room for."""
    return Trial(_ROLES[side], experiment, name, expects)


def side_of(role: Role) -> Side:
    """What a trial's role means for a bug."""
    return _SIDES[role]


class ArmSeen(ArmTold):
    """What came of one arm of a bug."""

    side: Side

    @property
    def headline(self) -> Seen | None:
        """What a table has room for: the verdict, which is the first thing that is not only given."""
        return next((row for row in self.rows if not row.given), None)

    @property
    def sound(self) -> bool:
        """Whether the arm shows anything."""
        told = all(row.ok is not None for row in self.rows)
        return not self.doubts and told and all(row.ok for row in self.rows if row.given)


class BugResult(Result):
    """What came of reproducing a bug once; `seconds` are those of its runs, without the start of clusters."""

    verdict: Verdict
    reasons: tuple[str, ...]
    arms: tuple[ArmSeen, ...]
    seconds: float
    kafka: str

    def of(self, side: Side) -> tuple[ArmSeen, ...]:
        return tuple(one for one in self.arms if one.side is side)


def result_of(claim: ClaimResult) -> BugResult:
    """A claim's result in the words of bugs."""
    return BugResult(
        id=claim.id,
        title=claim.title,
        verdict=_VERDICTS[claim.answer],
        reasons=tuple(reason.replace("the control ", "the fixed arm ") for reason in claim.reasons),
        arms=tuple(
            ArmSeen(side=side_of(trial.role), **{name: getattr(trial, name) for name in ArmTold.model_fields})
            for trial in claim.trials
        ),
        seconds=claim.seconds,
        kafka=claim.kafka,
    )


def exit_code(results: Sequence[BugResult]) -> int:
    """As of `kafka-chaos claims`: 0 all reproduced, 1 one was not, 3 something could not be told."""
    verdicts = {result.verdict for result in results}
    if Verdict.NOT_REPRODUCED in verdicts:
        return 1
    return 0 if verdicts == {Verdict.REPRODUCED} else 3
