"""Known bugs on real brokers, one test per bug.

All are `soak`: claims are run by the same code, and one of them is tested on every change.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lab.bugs.bug import BUGS, Bug
from harness.lab.bugs.on_versions import Fix
from harness.lab.suite.model import SuiteVerdict, choose
from tests.chaos.support.suite import Started, run_on

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


@pytest.mark.parametrize("bug", [pytest.param(bug, id=bug.id) for bug in BUGS])
def test_bug(bug: Bug, started: Started, results: Path) -> None:
    result = run_on(bug, started, results)
    assert result.verdict is SuiteVerdict.REPRODUCED, "\n".join(result.reasons)


@pytest.mark.parametrize(
    ("version", "verdict"), [("4.4.0", SuiteVerdict.AS_FIXED), ("4.0.0", SuiteVerdict.NOT_AS_FIXED)]
)
def test_the_fixed_arms_on_another_version(
    version: str, verdict: SuiteVerdict, started: Started, results: Path
) -> None:
    """4.0.0 stands for a version in which the bug shows again: it has it."""
    fix = Fix.of_bug(choose(BUGS, ["KAFKA-19163"])[0]).model_copy(update={"fixed_in": "4.0"})
    result = run_on(fix.moved_to(version), started, results)
    assert (result.verdict, result.kafka) == (verdict, version), "\n".join(result.reasons)
