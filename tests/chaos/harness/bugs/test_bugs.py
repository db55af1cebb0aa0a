"""Known bugs on real brokers, one test per bug.

All are `soak`: claims are run by the same code, and one of them is tested on every change.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bugs.bug import BUGS, Bug
from harness.suite.model import SuiteVerdict
from tests.chaos.conftest import Started
from tests.chaos.support.suite import run_on

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


@pytest.mark.parametrize("bug", [pytest.param(bug, id=bug.id) for bug in BUGS])
def test_bug(bug: Bug, started: Started, results: Path) -> None:
    result = run_on(bug, started, results)
    assert result.verdict is SuiteVerdict.REPRODUCED, "\n".join(result.reasons)
