"""Known bugs on real brokers, one test per bug; all but the shortest one, on one cluster, are `soak`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.bugs.catalog.registry import BUGS
from harness.bugs.model import Bug
from harness.suite.model import SuiteVerdict
from tests.chaos.conftest import Started
from tests.chaos.support.suite import run_on

pytestmark = pytest.mark.chaos


def on_one_cluster(bug: Bug) -> Bug:
    """The bug with the arms of its first experiment alone, which has arms of both roles."""
    first = bug.arms[0].experiment
    return replace(bug, arms=tuple(arm for arm in bug.arms if arm.experiment == first))


QUICK = [pytest.param(on_one_cluster(bug), id=f"{bug.id}-quick") for bug in BUGS if bug.by_day]
WHOLE = [pytest.param(bug, marks=pytest.mark.soak, id=bug.id) for bug in BUGS]


@pytest.mark.parametrize("bug", [*QUICK, *WHOLE])
def test_bug(bug: Bug, started: Started, results: Path) -> None:
    result = run_on(bug, started, results)
    assert result.verdict is SuiteVerdict.REPRODUCED, "\n".join(result.reasons)
