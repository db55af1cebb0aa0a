"""Matrices on several clusters at the same time, with a fake backend."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.many import workers
from harness.many.matrix.plan import plan_matrix
from harness.many.matrix.result import MatrixResult, MatrixStore
from harness.many.matrix.runner import MatrixRun
from harness.many.work_queue import WorkQueue
from harness.many.workers import RunRequest, WorkerPool, clusters_at_once
from harness.model.errors import ClusterError
from harness.spec.cluster import ClusterSpec
from tests.support.builders.matrices import NO_OPTIONS, resume_matrix, runs_made, write_matrix
from tests.support.fake_backend import FakeBackend
from tests.support.thread_workers import ThreadPool

pytestmark = pytest.mark.pure
GIB = 1 << 30
A, B = ClusterSpec(brokers=1), ClusterSpec(brokers=3)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers share the backend of the test. An interrupt arrives even where the process that started the
    tests ignores SIGINT, as a shell's background jobs do."""
    monkeypatch.setattr(workers, "WorkerPool", ThreadPool)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run_matrix(tmp_path: Path, backend: FakeBackend, clusters: int) -> tuple[MatrixStore, MatrixResult]:
    store = MatrixStore.created(tmp_path / "results", "small")
    plan = plan_matrix(write_matrix(tmp_path), None, NO_OPTIONS, 5)
    return store, MatrixRun(plan, store, "kafka-chaos matrix small.yaml", backend, clusters).execute()


@pytest.mark.parametrize(
    ("cores", "gib", "clusters"), [(1, 2, 1), (2, 24, 1), (8, 24, 2), (64, 24, 4), (16, 256, 4)]
)
def test_how_many_clusters_a_machine_takes(cores: int, gib: int, clusters: int) -> None:
    assert clusters_at_once(cores, gib * GIB) == clusters
    assert clusters_at_once() >= 1


def same_results(result: MatrixResult, expected: MatrixResult) -> None:
    for arm, same in zip(result.arms, expected.arms, strict=True):
        assert arm.name == same.name
        assert arm.figures is not None
        assert same.figures is not None
        assert arm.figures.with_loss == same.figures.with_loss


@pytest.mark.usefixtures("threads")
def test_two_clusters_share_the_runs_and_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    alone = FakeBackend(tmp_path / "one" / "log")
    both = FakeBackend(tmp_path / "two" / "log", clusters=2, seconds=0.05)
    _, expected = run_matrix(tmp_path / "one", alone, 1)
    _, result = run_matrix(tmp_path / "two", both, 2)
    assert (alone.most_up, both.most_up) == (1, 2)
    assert both.up == 0
    assert runs_made(both) == runs_made(alone)
    same_results(result, expected)


def test_two_processes_give_the_same_as_one(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    alone, both = (FakeBackend(tmp_path / name / "log") for name in ("one", "two"))
    _, expected = run_matrix(tmp_path / "one", alone, 1)
    _, result = run_matrix(tmp_path / "two", both, 2)
    assert both.starts == [], "not in this process"
    assert runs_made(both) == runs_made(alone)
    same_results(result, expected)


@pytest.mark.usefixtures("threads")
def test_an_interrupt_ends_all_workers_and_keeps_no_broken_run(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log", clusters=2, seconds=0.1, interrupt_at=3)
    with pytest.raises(KeyboardInterrupt):
        run_matrix(tmp_path, backend, 2)
    assert backend.up == 0
    store = MatrixStore(next((tmp_path / "results").iterdir()))
    backend.seconds = 0
    result = resume_matrix(store, backend)
    assert result.ended == "all runs made"
    assert all(arm.figures is not None and arm.figures.runs == 3 for arm in result.arms)
    assert result.exit_code() == 0


@pytest.mark.usefixtures("threads")
def test_the_worker_of_a_run_that_breaks_gets_a_new_cluster(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log", clusters=2, seconds=0.05)
    plan = plan_matrix(write_matrix(tmp_path), None, NO_OPTIONS, 5)
    backend.break_ = [plan.arms[0].name]
    store = MatrixStore.created(tmp_path / "results", "small")
    result = MatrixRun(plan, store, "", backend, 2).execute()
    assert len(backend.starts) == 3
    assert sum(arm.figures.left_out for arm in result.arms if arm.figures is not None) == 1


@pytest.mark.usefixtures("threads")
def test_a_failure_ends_all_workers(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path / "log", clusters=2, seconds=0.02)
    backend.break_ = [arm.name for arm in plan_matrix(write_matrix(tmp_path), None, NO_OPTIONS, 5).arms]
    with pytest.raises(ClusterError, match="runs in a row broke"):
        run_matrix(tmp_path, backend, 2)
    assert backend.up == 0


@pytest.mark.usefixtures("threads")
def test_a_spent_budget_ends_all_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.many.matrix.runner.MatrixRun._expected", lambda *_: 25.0)
    monkeypatch.setattr("harness.many.matrix.runner.MatrixRun._elapsed", lambda self: 10.0 * len(self._rows))
    backend = FakeBackend(tmp_path / "log", clusters=2, seconds=0.05)
    store = MatrixStore.created(tmp_path / "results", "small")
    spec = write_matrix(tmp_path, repeats={"at_least": 3, "budget_minutes": 1})
    result = MatrixRun(plan_matrix(spec, None, NO_OPTIONS, 5), store, "", backend, 2).execute()
    assert result.ended == "budget spent"
    assert backend.most_up == 2
    # A run that began before the budget was spent is kept, and no worker begins another one.
    assert 4 <= len(backend.lines()) <= 5
    assert backend.up == 0


@dataclass(frozen=True)
class Waiting:
    name: str
    cluster: ClusterSpec
    alone: bool = False


class IdleWorker:
    """A worker that carries nothing out."""

    replace = alive = False
    alive = True

    def __init__(self, spec: ClusterSpec | None) -> None:
        self.spec = spec
        self.busy = self.stopped = False
        self.requests: list[RunRequest] = []

    def give(self, request: RunRequest) -> None:
        self.busy = True
        self.requests.append(request)

    def stop(self, *, at_once: bool) -> None:
        assert not at_once
        self.stopped = True


def test_a_worker_takes_what_fits_its_cluster_first(tmp_path: Path) -> None:
    workers = [IdleWorker(A), IdleWorker(B)]
    took: list[tuple[int, str]] = []

    def request(run: Waiting, worker: object) -> RunRequest:
        took.append((workers.index(worker), run.name))  # type: ignore[arg-type]
        return RunRequest(None, (), 1, tmp_path)  # type: ignore[arg-type]

    queue = WorkQueue([Waiting("b1", B), Waiting("b2", B), Waiting("a1", A), Waiting("a2", A)], request)
    for _ in range(3):
        queue.hand_out(workers)
        for worker in workers:
            worker.busy = False
    assert sorted(took) == [(0, "a1"), (0, "a2"), (1, "b1"), (1, "b2")]
    assert all(worker.stopped for worker in workers), "nothing is left for them"


def test_a_run_with_nothing_left_to_do_is_passed_over(tmp_path: Path) -> None:
    (worker,) = [IdleWorker(A)]
    last = RunRequest(None, (), 1, tmp_path)  # type: ignore[arg-type]
    queue = WorkQueue([Waiting("a1", A), Waiting("a2", A)], lambda run, _: last if run.name == "a2" else None)
    queue.hand_out([worker])
    assert worker.requests == [last]
    assert queue.waiting == []


def test_what_waits_when_all_workers_have_ended_is_an_error() -> None:
    worker = IdleWorker(A)
    worker.alive = False
    queue = WorkQueue([Waiting("a1", A)], lambda *_: None)
    with pytest.raises(ClusterError, match="all worker processes have ended"):
        queue.hand_out([worker])


def test_the_folder_stays_locked_until_the_processes_have_ended(tmp_path: Path) -> None:
    store = MatrixStore.created(tmp_path, "small")
    with store.locked():
        pool = WorkerPool(1, FakeBackend(tmp_path / "log"), store.lock)
        pool.__enter__()
    try:
        with pytest.raises(Exception, match="another process is working"), store.locked():
            pass
    finally:
        pool.__exit__(None)
    with store.locked():
        pass
