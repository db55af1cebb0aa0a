"""Explorations on several clusters side by side: the same for the same seed, however long each run takes."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from harness.lab.explore import trial_runner
from harness.lab.explore.explorer import Exploration
from harness.lab.explore.phases import ClusterPhase, ObservedFault
from harness.lab.explore.plan import ExplorationPlan, ExploreBudget, ExploreOptions, plan_exploration
from harness.lab.explore.result import ExploreResult, ExploreStore, TrialRun, load_result
from harness.many import workers
from harness.model.errors import CheckError
from harness.model.result import ArmResult, VerdictWord
from tests.support.builders.explorations import small_options
from tests.support.fake_explore_backend import FakeExploreBackend
from tests.support.thread_workers import ThreadPool

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def _every_fault_hits_a_steady_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    hit = ObservedFault(place=0, phases=(ClusterPhase.STEADY,), verified=True)
    monkeypatch.setattr(trial_runner, "observed_faults", lambda *_: (hit,))


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers share the backend of the test, and its interrupt arrives as Ctrl-C does."""
    monkeypatch.setattr(workers, "WorkerPool", ThreadPool)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run_exploration(
    tmp_path: Path, backend: FakeExploreBackend, runs: int, clusters: int, **changes: Any
) -> tuple[ExploreStore, ExploreResult]:
    store = ExploreStore.created(tmp_path / "results", "small")
    options = small_options(tmp_path, runs, **changes)
    plan = plan_exploration(ExploreOptions(**{**_fields(options), "clusters": clusters}), None, 0)
    return store, Exploration(plan, store, "", backend).execute()


def resumed(store: ExploreStore, backend: FakeExploreBackend, **options: Any) -> ExploreResult:
    plan = plan_exploration(ExploreOptions(**options), store.folder, 0)
    return Exploration(plan, store, "", backend).execute()


def _fields(options: ExploreOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ExploreOptions.__slots__}


def decided(result: ExploreResult) -> list[tuple[Any, ...]]:
    return [(run.number, run.violation, run.known, run.trial, run.seed, run.verdict) for run in result.runs]


def fake(tmp_path: Path, name: str, **options: Any) -> FakeExploreBackend:
    return FakeExploreBackend(tmp_path / name, clusters=2, **options)


@pytest.mark.usefixtures("threads")
def test_two_clusters_share_the_runs_and_their_speed_changes_nothing(tmp_path: Path) -> None:
    backends = [fake(tmp_path, f"log{n}", seconds=seconds) for n, seconds in enumerate((0.06, 0.0))]
    results = [run_exploration(tmp_path, backend, 40, 2, confirm="2/3")[1] for backend in backends]
    assert decided(results[0]) == decided(results[1])
    assert [one.minimal for one in results[0].violations] == [one.minimal for one in results[1].violations]
    assert (backends[0].most_up, backends[0].up, results[0].clusters) == (2, 0, 2)
    assert results[0].side_by_side == 2
    (violation,) = results[0].violations
    assert violation.minimal.settings == {"acks": "1"}
    assert [run.number for run in results[0].runs] == list(range(1, 41))
    # Four are decided on before the first is over, and what those find is shrunk after the fourth.
    assert [run.known for run in results[0].runs[:6]] == [0, 0, 0, 0, 1, 2]
    first = next(run.number for run in results[0].runs if run.violation == 1)
    assert violation.found_in < first <= violation.found_in + 4


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("at", [0, 3, 9, 17, 22])
def test_an_interrupt_leaves_no_gap_and_resuming_gives_the_same(tmp_path: Path, at: int) -> None:
    _, expected = run_exploration(tmp_path, fake(tmp_path, "whole"), 30, 2)
    backend = fake(tmp_path, "log", seconds=0.03, interrupt_at=at)
    with pytest.raises(KeyboardInterrupt):
        run_exploration(tmp_path, backend, 30, 2)
    assert backend.up == 0
    store = ExploreStore(sorted((tmp_path / "results").iterdir())[-1])
    kept = load_result(store.folder)
    over = [run.number for run in store.outcomes()]
    assert over == [run.number for run in kept.runs] == list(range(1, len(kept.runs) + 1))
    result = resumed(store, backend)
    assert decided(result) == decided(expected)
    assert len({line.split()[0] for line in backend.lines()}) == 30
    assert len(backend.lines()) == 30, "a run that was complete is only checked"


@pytest.mark.usefixtures("threads")
def test_another_number_of_clusters_goes_on_with_what_is_there(tmp_path: Path) -> None:
    backend = fake(tmp_path, "log")
    store, result = run_exploration(tmp_path, backend, 9, 2)
    for runs, clusters in ((14, 1), (31, 2), (40, None)):
        again = resumed(store, backend, runs=runs, clusters=clusters)
        assert decided(again)[: len(result.runs)] == decided(result)
        result = again
    assert result.side_by_side == 2, "as before, where nothing else is said"
    assert len(backend.lines()) == len(result.runs) == 40


def test_a_folder_in_which_each_run_knew_all_before_it_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = FakeExploreBackend(tmp_path / "log")
    with monkeypatch.context() as patch:
        patch.setattr(ExplorationPlan, "ahead", 1)
        store, result = run_exploration(tmp_path, backend, 20, 1)
    for number, run in enumerate(store.outcomes(), 1):
        assert run.known == number - 1
        outcome = run.model_dump(mode="json", exclude={"known"})
        (store.run_folder(number) / "outcome.json").write_text(json.dumps(outcome))
    again = resumed(store, backend, runs=40)
    assert [run.trial for run in again.runs[:20]] == [run.trial for run in result.runs]
    assert again.runs[-1].known == 38
    assert len(backend.lines()) == 40


@pytest.mark.usefixtures("threads")
def test_a_vote_runs_on_both_clusters_with_no_run_too_many(tmp_path: Path) -> None:
    _, result = run_exploration(
        tmp_path, fake(tmp_path, "log", flaky=0.5, seconds=0.01), 60, 2, confirm="2/3"
    )
    for violation in result.violations:
        tries: dict[str, list[TrialRun]] = {}
        for run in result.runs:
            if run.violation == violation.number:
                tries.setdefault(str(run.trial), []).append(run)
        assert all(len(runs) <= 3 for runs in tries.values())
        unanimous = [runs for runs in tries.values() if len({run.fails for run in runs}) == 1]
        assert all(len(runs) <= 2 for runs in unanimous)


def test_the_run_of_a_worker_that_dies_is_unknown_and_the_others_go_on(tmp_path: Path) -> None:
    _, result = run_exploration(tmp_path, fake(tmp_path, "log", die_at=1), 6, 2)
    assert [run.number for run in result.runs] == [1, 2, 3, 4, 5, 6]
    broken = result.runs[1]
    assert broken.verdict is VerdictWord.UNKNOWN
    assert "the worker process ended with code -9" in broken.reasons[0]
    assert all(run.verdict is not VerdictWord.UNKNOWN for run in result.runs if run is not broken)


@pytest.mark.usefixtures("threads")
def test_the_cluster_of_a_run_that_breaks_is_replaced_and_the_other_is_not(tmp_path: Path) -> None:
    backend = fake(tmp_path, "log", break_at=[2], seconds=0.01)
    _, result = run_exploration(tmp_path, backend, 8, 2)
    assert len(backend.starts) == result.clusters == 3
    assert [run.reset for run in result.runs].count("a new cluster") == 3


class FirstCheckedLast(FakeExploreBackend):
    """The check of the first run ends when that of the second begins."""

    def check(self, parent: Path, name: str) -> Future[ArmResult]:
        found = super().check(parent, name)
        if name == "0001":
            self.first, self.found = Future[ArmResult](), found.result()
            # So that a failure is one, and does not wait for ever.
            self.timer = threading.Timer(20, self.first.set_exception, [CheckError("the second never came")])
            self.timer.start()
            return self.first
        if name == "0002":
            self.timer.cancel()
            self.first.set_result(self.found)
        return found


def test_the_next_run_is_made_while_one_is_checked(tmp_path: Path) -> None:
    _, result = run_exploration(tmp_path, FirstCheckedLast(tmp_path / "log", fails=lambda _: False), 4, 1)
    assert [run.verdict for run in result.runs] == [VerdictWord.VALID] * 4


@pytest.mark.usefixtures("threads")
def test_a_budget_of_time_ends_all_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exploration, "_elapsed", lambda self: 10.0 * len(self._runs))
    monkeypatch.setattr(trial_runner.TrialRunner, "expected", lambda *_: 15.0)
    backend = fake(tmp_path, "log", seconds=0.02, fails=lambda _: False)
    store = ExploreStore.created(tmp_path / "results", "small")
    options = ExploreOptions(menu=small_options(tmp_path).menu, budget="60s", seed=3, clusters=2)
    result = Exploration(plan_exploration(options, None, 0), store, "", backend).execute()
    # The fifth is over after 50 s, and 15 more would be too many; the other cluster has its run by then.
    assert 5 <= len(result.runs) <= 7
    assert backend.up == 0
    assert result.ended == "budget spent"


def test_time_in_which_two_runs_went_on_counts_once() -> None:
    def run(began: float, seconds: float) -> TrialRun:
        return TrialRun.model_validate(
            {
                "number": 1,
                "violation": 1,
                "trial": {},
                "folder": "",
                "seed": 1,
                "verdict": "valid",
                "started_ns": round((1000 + began) * 1e9),
                "seconds": seconds,
            }
        )

    budget = ExploreBudget(seconds=100)
    assert budget.cost([]) == 0
    assert budget.cost([run(0, 10), run(5, 2), run(8, 12), run(30, 5)]) == pytest.approx(25)
    assert ExploreBudget(runs=9).cost([run(0, 10), run(5, 2)]) == 2


def test_the_plan_says_on_how_many_clusters(tmp_path: Path) -> None:
    options = small_options(tmp_path)
    told = {
        clusters: plan_exploration(
            ExploreOptions(menu=options.menu, budget="20m", clusters=clusters), None, 1
        ).lines()[-1]
        for clusters in (None, 2)
    }
    assert "clusters" not in told[None]
    assert "on 2 clusters" in told[2]
