"""What a known bug is, and how the results of reproducing it are written to bugs.json.

The affected arms must show the bug. The fixed arms differ in the version or the setting which fixes it: they
are the controls. If the dangerous state was not reached in an arm, that arm shows nothing.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from harness.suite.model import Role, Suite, SuiteArmResult, SuiteItem, SuiteResult, SuiteVerdict


class BugArmResult(SuiteArmResult):
    """The result of one arm of a bug."""

    role: Role = Field(alias="side")
    curve: tuple[tuple[float, float], ...] = Field(default=(), exclude=True)


class BugResult(SuiteResult):
    """The result of reproducing a bug once."""

    arms: tuple[BugArmResult, ...]


BUG_SUITE = Suite(
    item="bug",
    roles=(Role.AFFECTED, Role.FIXED),
    passed=SuiteVerdict.REPRODUCED,
    failed=SuiteVerdict.NOT_REPRODUCED,
    result=BugResult,
    arm_result=BugArmResult,
    counted=True,
)


class Bug(SuiteItem):
    """A known bug and how it is reproduced.

    `words` says what goes wrong, `proof` how an arm shows that the dangerous state was really reached in it,
    `affected` and `fixed` which versions have the bug and which have not. The first expectation of every arm
    is its verdict.
    """

    suite: ClassVar[Suite] = BUG_SUITE

    link: str
    affected: str
    fixed: str
    proof: str
    pinned: bool = True

    def texts(self) -> dict[str, str]:
        return {"link": self.link, "what": self.words, "affected": self.affected, "fixed": self.fixed}
