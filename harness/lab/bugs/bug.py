"""What a known bug is, how results of reproducing it are written to bugs.json, and the built-in bugs.

The affected arms must show the bug. The fixed arms differ in the version or the setting which fixes it: they
are the controls. If the dangerous state was not reached in an arm, that arm shows nothing.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from harness.lab.suite.item_files import kind_of
from harness.lab.suite.model import Role, Suite, SuiteArmResult, SuiteItem, SuiteResult, SuiteVerdict


class BugArmResult(SuiteArmResult):
    """The result of one arm of a bug."""

    role: Role = Field(alias="side")
    curve: tuple[tuple[float, float], ...] = Field((), exclude=True)


class BugResult(SuiteResult):
    """The result of reproducing a bug once."""

    arms: tuple[BugArmResult, ...]


BUG_SUITE = Suite(
    item="bug",
    heading="Known bugs of Kafka, reproduced",
    roles=(Role.AFFECTED, Role.FIXED),
    passed=SuiteVerdict.REPRODUCED,
    failed=SuiteVerdict.NOT_REPRODUCED,
    result=BugResult,
    arm_result=BugArmResult,
    texts={"link": "link", "what": "words", "affected": "affected", "fixed": "fixed"},
    counted=True,
)


class Bug(SuiteItem):
    """A known bug and how it is reproduced.

    `words` says what goes wrong, `proof` how an arm shows that the dangerous state was really reached in it,
    `affected` and `fixed` which versions have the bug and which have not. The first expectation of every arm
    is its verdict, or the end of the application.

    On other versions (`harness.lab.bugs.on_versions`) its fixed arms are tried from `fixed_in` on, if the
    file names it; `not_moved` says why it does not.
    """

    suite: ClassVar[Suite] = BUG_SUITE

    link: str
    affected: str
    fixed: str
    proof: str
    fixed_in: str = Field(
        "",
        pattern=r"^(\d+(\.\d+){1,2})?$",
        description="the Kafka version from which on every release has it fixed, as its fixed arms show",
    )
    fixed_by: Literal["brokers", "client", "application"] = Field(
        "brokers", description="what has to be of that version; a client's or application's is in the arm"
    )
    not_moved: str = Field("", description="why there is no `fixed_in`")
    order: int = Field(0, description="where it stands among the built-in bugs: the lowest is the first")
    pinned: bool = True


BUG = kind_of(
    Bug,
    keys="id, title, words, link, affected, fixed, set_up, proof and arms",
    example="`kafka-chaos bugs --show KIP-903` prints the file of a built-in bug",
)
BUGS: tuple[Bug, ...] = tuple(
    sorted((BUG.builtin(name)[0] for name in BUG.builtin_names()), key=lambda bug: (bug.order, bug.id))
)
"""Every known bug, in order."""
