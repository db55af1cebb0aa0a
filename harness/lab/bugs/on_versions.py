"""Known bugs on other Kafka versions: their fixed arms, moved to a version that has the correction. Pure.

What the fixed arms show of one version shall hold on every later one. There the affected arms have nothing to
show; that the dangerous state was reached is proved by the preconditions of the fixed arms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import ValidationError

from harness.lab.bugs.bug import BUG_SUITE, Bug
from harness.lab.suite.model import Role, Suite, SuiteArm, SuiteVerdict
from harness.model.errors import BadInput, words_of
from harness.model.kafka_releases import version_key
from harness.spec.experiment import Experiment

FIX_SUITE = replace(
    BUG_SUITE,
    heading="Known bugs of Kafka, on versions that have them fixed",
    roles=(Role.FIXED,),
    passed=SuiteVerdict.AS_FIXED,
    failed=SuiteVerdict.NOT_AS_FIXED,
)


class Fix(Bug):
    """The correction of a known bug: its fixed arms alone. `version` is the one that they were moved to."""

    suite: ClassVar[Suite] = FIX_SUITE

    version: str = ""

    @classmethod
    def of_bug(cls, bug: Bug) -> Fix:
        """The correction of this bug, on the versions that its file names."""
        return cls.model_construct(**{**bug.__dict__, "arms": bug.of(Role.FIXED)})

    @property
    def held_since(self) -> str:
        return self.fixed_in

    @property
    def replay(self) -> str:
        return f"{super().replay} --versions {self.version}"

    def moved_to(self, version: str) -> Fix:
        """Its arms on this version of what has the correction. Arms that are the same there are tried once.

        Raises:
            BadInput: they cannot be tried on it; `found` says why.
        """
        if not self.fixed_in:
            raise _not_tried(self.not_moved or "its file has no fixed_in")
        if version_key(version) < version_key(self.fixed_in):
            raise _not_tried(f"fixed in {self.fixed_in}")
        arms: dict[object, SuiteArm] = {}
        for arm in self.arms:
            moved = self._moved(arm, version)
            arms.setdefault(_without_names(moved), moved)
        return self.model_copy(update={"arms": tuple(arms.values()), "version": version})

    def _moved(self, arm: SuiteArm, version: str) -> SuiteArm:
        (own,) = (candidate for candidate in arm.experiment.arms if candidate.name == arm.arm)
        alone = arm.experiment.model_copy(update={"arms": (own,)})
        fields = alone.model_dump(mode="json", by_alias=True, exclude_unset=True)
        old = {alone.cluster.version} if self.fixed_by == "brokers" else set(_versions(fields["arms"]))
        if len(old) != 1:
            raise _not_tried(f"its fixed arm {arm.arm} names {len(old)} versions")
        # A cluster without a version has the default one.
        fields["cluster"] = alone.cluster.model_dump(mode="json", by_alias=True)
        try:
            experiment = Experiment.model_validate(_replaced(fields, old.pop(), version))
        except ValidationError as error:
            raise _not_tried(words_of(error)) from error
        return arm.model_copy(update={"experiment": experiment, "arm": experiment.arms[0].name})


def _not_tried(why: str) -> BadInput:
    return BadInput("the bug's fixed arms cannot be tried on this version", found=why)


def _without_names(arm: SuiteArm) -> object:
    """What an arm is tried in and what is expected of it, without the names of arm and experiment."""
    arms = tuple(own.model_copy(update={"name": ""}) for own in arm.experiment.arms)
    experiment = arm.experiment.model_copy(update={"name": "", "arms": arms})
    return experiment.model_dump_json(), tuple(
        (expectation.what, expectation.expected) for expectation in arm.expects
    )


def _versions(value: Any) -> Sequence[str]:
    """All values of keys `version`."""
    if isinstance(value, dict):
        own = [value["version"]] if isinstance(value.get("version"), str) else []
        return [*own, *(version for inner in value.values() for version in _versions(inner))]
    return [version for inner in value for version in _versions(inner)] if isinstance(value, list) else []


def _replaced(value: Any, old: str, new: str) -> Any:
    """A copy with a version in place of another one: as a value, and within names."""
    if isinstance(value, dict):
        return {key: _replaced(inner, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, old, new) for inner in value]
    return re.sub(rf"(?<![\d.]){re.escape(old)}(?![\d.])", new, value) if isinstance(value, str) else value
