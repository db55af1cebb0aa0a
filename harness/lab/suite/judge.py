"""The verdict on an item of a suite, from what its arms showed, and the exit code of several. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from harness.lab.suite.expectations import Observation
from harness.lab.suite.model import Suite, SuiteArmResult, SuiteResult, SuiteVerdict


def judge(suite: Suite, arms: Sequence[SuiteArmResult]) -> tuple[SuiteVerdict, tuple[str, ...]]:
    """The verdict on an item and its reasons.

    `unknown` comes first: a run that proves nothing, a precondition that was not met, an observation that
    could not be made, or a control that does not come out as expected. Then the item fails if one of the
    arms that should show it came out otherwise. In a suite without controls such an arm comes first.
    """
    controls = suite.roles[1:]
    doubts = [f"{arm.arm}: {' '.join(doubt.split())}" for arm in arms for doubt in arm.doubts]
    # The observations of a run that proves nothing are left out.
    believed = [arm for arm in arms if not arm.doubts]
    doubts += [
        f"{arm.arm}: {_difference(row)}"
        for arm in believed
        for row in arm.rows
        if row.ok is None or (row.given and not row.ok)
    ]
    doubts += [
        f"the {arm.role} arm {arm.arm} does not come out as expected: {_difference(row)}"
        for arm in believed
        if arm.role in controls
        for row in arm.findings
        if row.ok is False
    ]
    for role in suite.roles:
        if not any(arm.role is role and (arm.findings or arm.doubts) for arm in arms):
            doubts.append(f"no {role} arm was tried")
    broken = [f"{arm.arm}: {_difference(row)}" for arm in believed for row in arm.findings if row.ok is False]
    # Without controls a failure is one, even if a precondition was not met: it may be what a correction does.
    if doubts and (controls or not broken):
        return SuiteVerdict.UNKNOWN, tuple(dict.fromkeys(doubts))
    return (suite.failed, tuple(broken)) if broken else (suite.passed, ())


def _difference(row: Observation) -> str:
    return f"{row.what}: expected {row.expected}, seen {row.seen}"


def exit_code(results: Sequence[SuiteResult]) -> int:
    """As of `kafka-chaos run`: 0 if all passed, 1 if one failed, 3 if none failed and one is unknown."""
    verdicts = [result.verdict for result in results]
    if any(verdict.failed for verdict in verdicts):
        return 1
    return 0 if verdicts and all(verdict.passed for verdict in verdicts) else 3
