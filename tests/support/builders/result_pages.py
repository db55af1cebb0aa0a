"""A page of results of each kind."""

from __future__ import annotations

from pathlib import Path

from harness.lab.bugs.bug import BUGS, BugResult
from harness.lab.claims.claim import CLAIMS, ClaimResult
from harness.lab.suite.model import SuiteVerdict


def bug_result(verdict: SuiteVerdict = SuiteVerdict.REPRODUCED) -> BugResult:
    """The first bug with this verdict."""
    arm = BUGS[0].suite.arm_result(
        role=BUGS[0].suite.roles[0], experiment="x", arm="y", folder="f", rows=(), doubts=()
    )
    return BugResult(
        id=BUGS[0].id, title="t", verdict=verdict, reasons=("`why`",), arms=(arm,), kafka="4.3.1", seconds=1.0
    )


def claim_result() -> ClaimResult:
    """The first claim, which was found true."""
    return ClaimResult(
        id=CLAIMS[0].id,
        title="t",
        verdict=SuiteVerdict.YES,
        reasons=(),
        arms=(),
        kafka="4.3.1",
        seconds=1.0,
    )


def new_folder(folder: Path, name: str) -> Path:
    """A folder in this one, which is made."""
    target = folder / name
    target.mkdir(parents=True)
    return target
