"""What a claim is, as data, and what its verdict is. Pure.

A claim has trials: arms of experiments, each with expectations. Those of the role `claim` must come out as
the claim says; those of the role `control` differ from them in one thing and must come out the other way. A
claim whose control does not behave has been shown nothing: `unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from harness.model.frozen import Frozen
from harness.spec.experiment import Experiment
from harness.suite.expectations import Observation

if TYPE_CHECKING:
    from harness.suite.expectations import Expectation


class Role(StrEnum):
    """What a trial is for."""

    CLAIM = "claim"
    CONTROL = "control"


class ClaimVerdict(StrEnum):
    """Whether a claim holds."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ClaimArm:
    """One arm of an experiment, and what is expected of it; a table has room for the first, but for what is
    given. `curve`: the write step whose acknowledgements are plotted."""

    role: Role
    experiment: Experiment
    arm: str
    expects: tuple[Expectation, ...]
    curve: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim and how it is put to the test.

    `words` is the claim as engineers make it, `set_up` what is done, in words. `today` says what today's
    Kafka does, since which version, where the claim is out of date. `by_day`: short and steady enough for
    every change; `alone`: it measures times, so that nothing else may run meanwhile. `since`: the first Kafka
    version that it can be tried on (empty: any); `only`: its arms name the versions themselves, and it can be
    tried on no other.
    """

    id: str
    title: str
    words: str
    set_up: str
    trials: tuple[ClaimArm, ...]
    today: str = ""
    by_day: bool = False
    alone: bool = False
    since: str = ""
    only: str = ""

    def too_old(self) -> str | None:
        """Why the Kafka version of the trials cannot show the claim (None: it can)."""
        version = self.trials[0].experiment.cluster.version
        if not self.since or _numbers(version) >= _numbers(self.since):
            return None
        return f"it needs Kafka {self.since} or later, and this is {version}"

    @property
    def kafka(self) -> str:
        """The Kafka versions of its arms."""
        return ", ".join(dict.fromkeys(trial.experiment.cluster.version for trial in self.trials))

    def has(self, experiment: Experiment) -> bool:
        """Whether a trial is an arm of this experiment."""
        return any(trial.experiment == experiment for trial in self.trials)

    def experiments(self) -> tuple[tuple[Experiment, tuple[str, ...]], ...]:
        """Each experiment once, in order, with the arms that trials name."""
        found: dict[str, tuple[Experiment, list[str]]] = {}
        for trial in self.trials:
            _, arms = found.setdefault(trial.experiment.name, (trial.experiment, []))
            if trial.arm not in arms:
                arms.append(trial.arm)
        return tuple((experiment, tuple(arms)) for experiment, arms in found.values())


class ArmNarrative(Frozen):
    """What came of one arm. `folder` is below that of the whole run; `doubts` say why it proves nothing
    (none: it does); `story` is what happened, as lines of text."""

    experiment: str
    arm: str
    folder: str
    doubts: tuple[str, ...]
    rows: tuple[Observation, ...]
    story: tuple[str, ...] = ()


class ClaimArmResult(ArmNarrative):
    """What came of one trial. `curve` is what a plot shows of it, as (seconds, acknowledged records a
    second)."""

    role: Role
    curve: tuple[tuple[float, float], ...] = ()

    def shown(self) -> tuple[Observation, ...]:
        """All but what was only given."""
        return tuple(row for row in self.rows if not row.given)

    def headline(self) -> Observation | None:
        """The one row that a table has room for: the first that is not as expected, else the first."""
        shown = self.shown()
        return next((row for row in shown if not row.ok), shown[0] if shown else None)


class SuiteResult(Frozen):
    """What came of a claim, or of a known bug (`harness.bugs.model`)."""

    id: str
    title: str


class ClaimResult(SuiteResult):
    """What came of a claim; `seconds` are those of its runs, without the start of a cluster, and without the
    runs that a claim before it in the list has had too."""

    answer: ClaimVerdict
    reasons: tuple[str, ...]
    trials: tuple[ClaimArmResult, ...]
    seconds: float
    kafka: str

    def of(self, role: Role) -> tuple[ClaimArmResult, ...]:
        return tuple(trial for trial in self.trials if trial.role is role)


def judged(trials: Sequence[ClaimArmResult]) -> tuple[ClaimVerdict, tuple[str, ...]]:
    """Verdict and reasons.

    `unknown` comes first: a run that proves nothing, something given that was not so, something that could
    not be told, or a control that does not behave. Then `no`, if an arm of the claim came out otherwise.
    """
    doubts = [f"{trial.arm}: {' '.join(doubt.split())}" for trial in trials for doubt in trial.doubts]
    # What a run that proves nothing shows is not worth a word.
    sound = [trial for trial in trials if not trial.doubts]
    doubts += [
        f"{trial.arm}: {_against(row)}"
        for trial in sound
        for row in trial.rows
        if row.ok is None or (row.given and not row.ok)
    ]
    doubts += [
        f"the control {trial.arm} does not behave: {_against(row)}"
        for trial in sound
        if trial.role is Role.CONTROL
        for row in trial.shown()
        if row.ok is False
    ]
    for role in Role:
        if not any(trial.role is role and (trial.shown() or trial.doubts) for trial in trials):
            doubts.append(f"no {role} was tried")
    if doubts:
        return ClaimVerdict.UNKNOWN, tuple(dict.fromkeys(doubts))
    broken = [f"{trial.arm}: {_against(row)}" for trial in trials for row in trial.shown() if row.ok is False]
    return (ClaimVerdict.NO, tuple(broken)) if broken else (ClaimVerdict.YES, ())


def _against(row: Observation) -> str:
    return f"{row.what}: expected {row.expected}, seen {row.seen}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def exit_code(results: Sequence[ClaimResult]) -> int:
    """As of `kafka-chaos run`: 0 all yes, 1 a no, 3 no no but something could not be told."""
    answers = {result.answer for result in results}
    if ClaimVerdict.NO in answers:
        return 1
    return 0 if answers == {ClaimVerdict.YES} else 3
