"""The process that carries out requests: its clusters, its messages, how it ends."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from harness.lab.claims.claim import CLAIMS
from harness.lab.suite.model import choose
from harness.many import workers
from harness.many.workers import RequestFinished, RunFinished, RunRequest, WorkerPool, WorkerProcess
from harness.model.errors import ClusterError
from harness.model.progress import report_progress
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from tests.support.fake_backend import FakeBackend

pytestmark = pytest.mark.pure

R12, R16, R3 = (choose(CLAIMS, [one])[0].arms[0].experiment for one in ("R12", "R16", "R3"))


class LoggingBackend(FakeBackend):
    """Only says what is started, run and stopped."""

    def __init__(self, log: list[str]) -> None:
        super().__init__(Path())
        self.events = log

    def start(self, spec: ClusterSpec, logs: Path) -> AbstractContextManager[Any]:
        report_progress(f"starting Kafka {spec.version}")
        return self._cluster(logs.name)

    @contextmanager
    def _cluster(self, name: str) -> Iterator[str]:
        if name == "logs-bad":
            raise ClusterError("it did not come up")
        self.events.append(f"up {name}")
        yield name
        self.events.append(f"down {name}")

    def run(self, cluster: Any, experiment: Experiment, *_: object) -> None:  # type: ignore[override]
        self.events.append(f"{experiment.name} on {cluster}")
        if experiment is R16 or experiment.name == R16.name:
            raise ClusterError("the broker ended")


Serve = Callable[..., list[object]]


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def serve(log: list[str], tmp_path: Path) -> Iterator[Serve]:
    """Has requests carried out in this process; returns the messages."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*requests: tuple[Experiment, str, bool]) -> list[object]:
        ours, theirs = multiprocessing.Pipe()
        for experiment, logs, reuse in requests:
            arm = experiment.arms[0]
            runs = ({tmp_path / arm.name: arm},)
            ours.send(RunRequest(experiment, runs, 1, tmp_path / logs, reuse=reuse))
        ours.send(None)
        workers.serve(theirs, LoggingBackend(log))
        return list(_received(ours))

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _received(pipe: Connection) -> Iterator[object]:
    while pipe.poll():
        yield pipe.recv()


def test_a_cluster_is_kept_for_the_next_of_its_spec_and_removed_for_another(
    serve: Serve, log: list[str]
) -> None:
    messages = serve((R12, "logs-1", True), (R12, "logs-2", True), (R3, "logs-3", True))
    assert log == [
        "up logs-1",
        f"{R12.name} on logs-1",
        f"{R12.name} on logs-1",
        "down logs-1",
        "up logs-3",
        f"{R3.name} on logs-3",
        "down logs-3",
    ]
    assert [type(one) for one in messages] == [
        str,
        RunFinished,
        RequestFinished,
        RunFinished,
        RequestFinished,
        str,
        RunFinished,
        RequestFinished,
    ]
    assert [one.fresh for one in messages if isinstance(one, RequestFinished)] == [True, False, True]


def test_what_breaks_is_told_and_the_next_may_ask_for_a_new_cluster(serve: Serve, log: list[str]) -> None:
    messages = serve((R16, "logs-1", True), (R12, "logs-2", False))
    first, second = (one for one in messages if isinstance(one, RequestFinished))
    assert "the broker ended" in str(first.error)
    assert first.began
    assert second.error is None
    assert log[-4:] == ["down logs-1", "up logs-2", f"{R12.name} on logs-2", "down logs-2"]


def test_a_cluster_that_does_not_come_up_is_told_and_is_no_cluster(serve: Serve, log: list[str]) -> None:
    messages = serve((R12, "logs-bad", True), (R12, "logs-2", True))
    first, second = (one for one in messages if isinstance(one, RequestFinished))
    assert (first.began, second.began) == (False, True)
    assert "it did not come up" in str(first.error)
    assert log[0] == "up logs-2"


def test_a_process_that_is_gone_has_broken_its_order() -> None:
    with WorkerPool(1, FakeBackend(Path())) as workers:
        (worker,) = workers.workers
        worker.stop(at_once=True)
        worker.join()
        worker.busy = True
        message = worker.receive()
        assert isinstance(message, RequestFinished)
        assert "ended with code" in str(message.error)
        assert not worker.busy
        assert not worker.alive


def test_a_process_ends_when_there_are_no_more_orders() -> None:
    worker = WorkerProcess(FakeBackend(Path()))
    assert worker.alive
    worker.stop(at_once=False)
    worker.join()
    assert not worker.alive
