"""Share groups on real brokers: the built-in experiments keep their promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.finding_class import FindingClass
from harness.run.executor import Options, execute
from harness.spec.experiment_files import load

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


@pytest.mark.parametrize("name", ["share-groups", "share-group-altered", "share-leader-restarts"])
def test_the_experiment_shows_what_it_promises(name: str, tmp_path: Path) -> None:
    ((_, result),) = execute([load(name)], Options(results=tmp_path, seed=3))
    for arm in result.arms:
        assert arm.judgement.as_promised, (arm.meta.arm, arm.judgement)
    # The control of all: what is given again is seen, at the latest where every record is released.
    counts = [arm.summary.count(FindingClass.SHARE_REDELIVERED) for arm in result.arms if arm.summary]
    assert len(counts) == len(result.arms)
    assert any(counts)
