"""The order in which experiments run, and what happens to those that break."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from harness.lab.claims.claim import CLAIMS
from harness.lab.suite import runner
from harness.lab.suite.expectations import Observation
from harness.lab.suite.model import SuiteResult, SuiteVerdict, choose
from harness.many.work_queue import next_for
from harness.many.workers import RequestFinished, RunRequest, WorkerMessage, WorkerPool, WorkerProcess
from harness.model.errors import ClusterError
from harness.model.finding_class import FindingClass
from harness.model.result import BrokenPromise
from harness.run.executor import Options
from harness.spec.cluster import ClusterSpec
from tests.support.builders.finished_runs import FinishedRunFolder

pytestmark = pytest.mark.pure


def test_an_experiment_that_two_claims_have_is_run_once_with_the_arms_of_both() -> None:
    (first, both) = choose(CLAIMS, ["R16", "R21"])
    runs = runner.experiments_of([both, first])
    assert len({one.experiment.name for one in runs}) == len(runs)
    (shared,) = (one for one in runs if one.experiment.name == "r16-last-in-sync")
    assert shared.item is both
    assert shared.arms == ("unclean=false", "unclean=true")


def test_a_broken_promise_is_shown_however_the_verdict_words_it(folder: FinishedRunFolder) -> None:
    run = folder.finished()
    broken = BrokenPromise(finding=FindingClass.LOST, promised="acked in after-cut (500)", seen=1_500)
    for words in (str(broken), "of the class lost there are 1,500 and not 500"):
        judgement = run.result.judgement.model_copy(
            update={"promise_reasons": (words,), "broken_promises": (broken,), "as_promised": False}
        )
        result = run.result.model_copy(update={"judgement": judgement})
        item = CLAIMS[0]
        *_, row = runner.evaluate(item.suite, item.arms[0], run.folder / "item" / "experiment", result).rows
        assert row == Observation(what="lost", expected="acked in after-cut (500)", seen="1,500", ok=False)


class FakeWorker(WorkerProcess):
    """A worker without a process: its experiments break, or are over at once without a run."""

    def __init__(self, log: list[str], answers: dict[str, RequestFinished]) -> None:
        self.log, self.answers = log, answers
        self.spec: ClusterSpec | None = None
        self.busy = self.replace = False
        self.orders: list[RunRequest] = []
        self.stopped = False

    def give(self, order: RunRequest) -> None:
        self.spec, self.busy = order.experiment.cluster, True
        self.orders.append(order)
        self.log.append(order.experiment.name)

    def stop(self, *, at_once: bool) -> None:
        assert not at_once
        assert not self.busy
        self.stopped = True

    @property
    def alive(self) -> bool:
        return not self.stopped


class FakeWorkerPool(WorkerPool):
    def __init__(self, workers: list[FakeWorker]) -> None:
        self.workers = list(workers)
        self.fakes = workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert not any(worker.busy for worker in self.workers)

    def messages(self, seconds: float) -> Iterator[tuple[WorkerProcess, WorkerMessage]]:  # noqa: ARG002
        for worker in self.fakes:
            if worker.busy:
                worker.busy = False
                name = worker.orders[-1].experiment.name
                yield worker, worker.answers.pop(name, RequestFinished())


RunFake = Callable[..., tuple[list[SuiteResult], list[str], list[FakeWorker]]]


@pytest.fixture
def run_fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunFake:
    """Runs claims on fake workers. Returns the results, the names of experiments and items as they ran and
    ended, and the workers."""
    monkeypatch.setattr(runner, "with_engine", lambda options, _: options)
    monkeypatch.setattr(runner.docker_engine, "connect", lambda: None)
    monkeypatch.setattr(runner.images, "resolve", lambda *_: None)
    monkeypatch.setattr(runner, "capabilities_for", lambda _: ())

    def run(
        ids: list[str], size: int = 1, **answers: RequestFinished
    ) -> tuple[list[SuiteResult], list[str], list[FakeWorker]]:
        log: list[str] = []
        named = {name.replace("_", "-"): answer for name, answer in answers.items()}
        workers = [FakeWorker(log, named) for _ in range(size)]
        results = runner.run_items(
            [choose(CLAIMS, [one])[0] for one in ids],
            Options(results=tmp_path, seed=1),
            lambda one: log.append(one.id),
            parallel=size,
            workers=lambda *_: FakeWorkerPool(workers),
        )
        return results, log, workers

    return run


def test_a_result_is_given_as_soon_as_its_experiments_are_over(run_fake: RunFake) -> None:
    results, order, _ = run_fake(["R21", "R9", "R16"])
    assert [one.id for one in results] == ["R21", "R9", "R16"]
    assert all(one.verdict is SuiteVerdict.UNKNOWN for one in results), "nothing was run"
    assert order[:3] == ["r21-r12-cut", "r21-r13-answers", "r21-r16-last-in-sync"]
    assert order[3:6] == ["r12-cut", "r13-answers", "r16-last-in-sync"]
    assert order[6:8] == ["R21", "R16"], "what R16 needs R21 has had run"
    assert order[-1] == "R9", "it measures times, and comes last"


def test_workers_have_clusters_of_different_specs_as_long_as_there_are(run_fake: RunFake) -> None:
    _, _, (one, other) = run_fake(["R16", "R3", "R12", "R20", "R2", "R5"], size=2)
    assert [order.experiment.name for order in other.orders[:4]] == [
        "r03-long",
        "r03-short",
        "r20-slow",
        "r20-fast",
    ]
    assert all(order.experiment.cluster == one.orders[0].experiment.cluster for order in one.orders)
    # No other cluster is wanted any more: what waits for the first one is shared.
    assert other.orders[4].experiment.cluster == one.orders[0].experiment.cluster
    new = [one.orders[0], other.orders[0], other.orders[4]]
    assert [order.logs.name for order in new] == ["logs-1", "logs-2", "logs-3"]


def test_whoever_has_nothing_left_to_do_ends(run_fake: RunFake) -> None:
    _, order, (one, other) = run_fake(["R16", "R2", "R9"], size=2)
    assert order[0] == "r16-last-in-sync"
    measured = [order.experiment.name for order in one.orders[1:]]
    assert len(measured) == 4
    assert all(name.startswith("r09-") for name in measured)
    assert not any(order.experiment.name.startswith("r09-") for order in other.orders)
    assert other.stopped


def test_what_measures_times_runs_while_the_others_rest() -> None:
    common, lag = ClusterSpec(brokers=3), ClusterSpec(brokers=4)
    idle = {"alone": False, "others_busy": False}
    assert next_for(None, [], [(common, True), (lag, False)], **idle) == 1
    assert next_for(lag, [], [(common, True)], alone=False, others_busy=True) is None
    assert next_for(lag, [], [(common, True)], **idle) == 0
    assert next_for(lag, [common], [(common, True)], **idle) is None, "another has the cluster up"
    assert next_for(common, [], [(common, False)], alone=True, others_busy=True) is None


def test_what_broke_on_a_used_cluster_is_run_again_on_a_new_one(run_fake: RunFake) -> None:
    broken = RequestFinished(error=ClusterError("the broker ended"), proof="")
    results, order, (worker,) = run_fake(
        ["R12", "R16"], r12_cut=broken, r16_last_in_sync=replace(broken, proof=None)
    )
    assert order == ["r12-cut", "r12-cut", "r12-no-cut", "R12", "r16-last-in-sync", "R16"]
    assert [order.reuse for order in worker.orders] == [True, False, True, True]
    assert worker.orders[0].runs != worker.orders[1].runs
    assert any("the broker ended" in reason for reason in results[1].reasons)
    assert not any("the broker ended" in reason for reason in results[0].reasons)


def test_a_cluster_that_does_not_come_up_is_started_once(run_fake: RunFake) -> None:
    answer = RequestFinished(error=ClusterError("it did not come up"), began=False)
    results, order, _ = run_fake(["R12", "R16", "R3"], r12_cut=answer)
    assert order[:1] == ["r12-cut"]
    assert "r16-last-in-sync" not in order
    for result in results[:2]:
        assert any("it did not come up" in reason for reason in result.reasons)
    assert not any("it did not come up" in reason for reason in results[2].reasons)
