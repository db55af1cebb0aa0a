"""The loop of all that makes many runs, with a fake backend."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest

from harness.many.campaign import StoredRun, StoredRuns
from harness.many.matrix.plan import MatrixOptions, plan_matrix
from harness.many.matrix.result import MatrixStore
from harness.model.result import ArmResult
from tests.support.builders.matrices import write_matrix
from tests.support.fake_backend import FakeBackend

pytestmark = pytest.mark.pure


class NeverChecked(FakeBackend):
    """Its checks do not end."""

    def check(self, parent: Path, name: str) -> Future[ArmResult]:  # noqa: ARG002
        return Future()


def due(tmp_path: Path, store: MatrixStore) -> list[StoredRun]:
    """One run of each arm of a matrix."""
    arms = plan_matrix(write_matrix(tmp_path), None, MatrixOptions(), 5).arms
    return [
        StoredRun(name=arm.name, experiment=arm.experiment, folder=store.run_folder(arm.name, 0), seed=5)
        for arm in arms
        if arm.experiment is not None
    ]


def test_runs_go_on_while_others_are_checked(tmp_path: Path) -> None:
    store, backend = MatrixStore.created(tmp_path, "small"), NeverChecked(tmp_path / "log")
    runs = due(tmp_path, store)
    with StoredRuns[StoredRun](store, backend, 1, lambda run: run.name, command="matrix") as campaign:
        campaign.add(runs)
        ended = []
        while campaign.waiting or campaign.busy:
            ended += [run for run, _, _ in campaign.ended()]
    assert ended == runs
    assert len(backend.lines()) == len(runs) == 4
    assert all(run.check is not None and not run.over for run in runs)
    assert backend.up == 0


def test_what_the_budget_does_not_allow_is_dropped_with_all_after_it(tmp_path: Path) -> None:
    store, backend = MatrixStore.created(tmp_path, "small"), FakeBackend(tmp_path / "log")
    runs, asked = due(tmp_path, store), []

    def begin(run: StoredRun) -> str | None:
        asked.append(run)
        return None if len(asked) == 2 else ""

    with StoredRuns[StoredRun](store, backend, 1, begin, command="matrix") as campaign:
        campaign.add(runs)
        while campaign.waiting or campaign.busy:
            list(campaign.ended())
    assert asked == runs[:2]
    assert campaign.refused
    assert [run.over for run in runs] == [True, False, False, False]
