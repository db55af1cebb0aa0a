"""The process that runs experiments of claims: its clusters, what it tells, how it ends."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import pytest

from harness.campaign import worker_processes
from harness.campaign.worker_processes import (
    ProgressMessage,
    RequestFinished,
    RunFinished,
    RunRequest,
    WorkerPool,
    WorkerProcess,
)
from harness.claims.catalog.registry import CLAIMS
from harness.model.errors import ClusterError
from harness.spec.experiment import Experiment
from harness.suite.model import choose

pytestmark = pytest.mark.pure

R12, R16, R3 = (choose(CLAIMS, [one])[0].arms[0].experiment for one in ("R12", "R16", "R3"))


class Town:
    """A cluster that only says that it is started and stopped."""

    log: list[str]

    def __init__(self, spec: Any, *, log_folder: Path) -> None:
        self.spec, self.name = spec, log_folder.name

    def __enter__(self) -> Self:
        if self.name == "logs-bad":
            raise ClusterError("it did not come up")
        Town.log.append(f"up {self.name}")
        return self

    def __exit__(self, *_: object) -> None:
        Town.log.append(f"down {self.name}")


Serve = Callable[..., list[object]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Serve]:
    """Has orders carried out in this process; returns what was told."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    Town.log = []
    monkeypatch.setattr(worker_processes, "ManagedCluster", Town)

    def made(cluster: Town, experiment: Experiment, arms: Any, *_: object, **__: object) -> Iterator[str]:
        Town.log.append(f"{experiment.name} on {cluster.name}")
        yield arms[0].name
        if experiment is R16 or experiment.name == R16.name:
            raise ClusterError("the broker ended")

    monkeypatch.setattr(worker_processes, "made", made)

    def run(*orders: tuple[Experiment, str, bool]) -> list[object]:
        ours, theirs = multiprocessing.Pipe()
        for experiment, logs, reuse in orders:
            arms = (experiment.arms[0].name,)
            ours.send(RunRequest(experiment, arms, tmp_path, 1, (), tmp_path / logs, reuse))
        ours.send(None)
        worker_processes.serve(theirs)
        return list(_received(ours))

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _received(pipe: Connection) -> Iterator[object]:
    while pipe.poll():
        yield pipe.recv()


def test_a_cluster_is_kept_for_the_next_of_its_spec_and_removed_for_another(serve: Serve) -> None:
    told = serve((R12, "logs-1", True), (R12, "logs-2", True), (R3, "logs-3", True))
    assert Town.log == [
        "up logs-1",
        f"{R12.name} on logs-1",
        f"{R12.name} on logs-1",
        "down logs-1",
        "up logs-3",
        f"{R3.name} on logs-3",
        "down logs-3",
    ]
    assert [type(one) for one in told] == [
        ProgressMessage,
        RunFinished,
        RequestFinished,
        RunFinished,
        RequestFinished,
        ProgressMessage,
        RunFinished,
        RequestFinished,
    ]
    assert [one.fresh for one in told if isinstance(one, RequestFinished)] == [True, False, True]


def test_what_breaks_is_told_and_the_next_may_ask_for_a_new_cluster(serve: Serve) -> None:
    told = serve((R16, "logs-1", True), (R12, "logs-2", False))
    first, second = (one for one in told if isinstance(one, RequestFinished))
    assert "the broker ended" in (first.error or "")
    assert first.began
    assert second.error is None
    assert Town.log[-4:] == ["down logs-1", "up logs-2", f"{R12.name} on logs-2", "down logs-2"]


def test_a_cluster_that_does_not_come_up_is_told_and_is_no_cluster(serve: Serve) -> None:
    told = serve((R12, "logs-bad", True), (R12, "logs-2", True))
    first, second = (one for one in told if isinstance(one, RequestFinished))
    assert (first.began, second.began) == (False, True)
    assert "it did not come up" in (first.error or "")
    assert Town.log[0] == "up logs-2"


def test_a_process_that_is_gone_has_broken_its_order() -> None:
    with WorkerPool(1) as workers:
        (worker,) = workers.workers
        worker.stop(at_once=True)
        worker.join()
        worker.busy = True
        message = worker.told()
        assert isinstance(message, RequestFinished)
        assert "ended with code" in (message.error or "")
        assert not worker.busy
        assert not worker.alive


def test_a_process_ends_when_there_are_no_more_orders() -> None:
    worker = WorkerProcess()
    assert worker.alive
    worker.stop(at_once=False)
    worker.join()
    assert not worker.alive
