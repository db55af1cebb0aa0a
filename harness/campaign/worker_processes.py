"""Processes that run experiments side by side, each on a cluster of its own.

Processes and not threads: producers and samplers of one must not wait until the other's let go of the
interpreter. What they are given and what they tell goes through a pipe, as plain values; runs are checked by
the process that gave the orders.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType
from typing import Self

from harness.cluster.managed import ManagedCluster
from harness.model.errors import KafkaChaosError
from harness.model.journal import RUN_FILE
from harness.model.progress import progress_to, report_progress
from harness.model.run import RunMeta
from harness.run.executor import made
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment

_END_SECONDS = 60.0


@dataclass(frozen=True)
class RunRequest:
    """Run the arms of an experiment into `folder`, on the cluster that is up if it is of the same spec, and
    `reuse` says so; a new one leaves its logs in `logs`."""

    experiment: Experiment
    arms: tuple[str, ...]
    folder: Path
    seed: int
    skipped: tuple[str, ...]
    logs: Path
    reuse: bool = True


@dataclass(frozen=True)
class ProgressMessage:
    """A line about what is going on."""

    text: str


@dataclass(frozen=True)
class RunFinished:
    """A run folder is there to be checked."""

    name: str


@dataclass(frozen=True)
class RequestFinished:
    """An order was carried out, or broke. `began`: its cluster came up; `fresh`: nothing ran on it before."""

    seconds: float = 0.0
    error: str | None = None
    began: bool = True
    fresh: bool = True


WorkerMessage = ProgressMessage | RunFinished | RequestFinished


class WorkerProcess:
    """One process, seen from the one that gives the orders. `spec`: of the cluster it has, or is to start."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,))
        self._process.start()
        theirs.close()
        self.spec: ClusterSpec | None = None
        self.busy = False
        self._stopped = False

    def give(self, order: RunRequest) -> None:
        self.spec, self.busy = order.experiment.cluster, True
        with suppress(OSError):  # it is gone: `told` says so
            self.pipe.send(order)

    def told(self) -> WorkerMessage:
        """What it has to tell; one that is gone has broken its order."""
        try:
            message: WorkerMessage = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            message = RequestFinished(
                error=f"the process that ran it ended with code {self._process.exitcode}"
            )
        if isinstance(message, RequestFinished):
            self.busy = False
        return message

    @property
    def alive(self) -> bool:
        """Whether it can be given orders."""
        return not self._stopped and self._process.is_alive()

    def stop(self, *, at_once: bool) -> None:
        """Have it end: its cluster is removed. `at_once`: whatever it runs is broken off, faults undone."""
        self._stopped = True
        if at_once:
            self._process.terminate()
        with suppress(OSError):
            self.pipe.send(None)

    def join(self) -> None:
        self._process.join(_END_SECONDS)


class WorkerPool:
    """Workers, as a context manager that leaves no cluster behind."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.workers: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        self.workers = [WorkerProcess() for _ in range(self._size)]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for worker in self.workers:
            worker.stop(at_once=kind is not None)
        for worker in self.workers:
            worker.join()

    def messages(self, seconds: float) -> Iterator[tuple[WorkerProcess, WorkerMessage]]:
        """What the workers that are at it tell next; waits so long for it."""
        by_pipe = {worker.pipe: worker for worker in self.workers if worker.busy}
        for pipe in wait(list(by_pipe), seconds):
            assert isinstance(pipe, Connection)
            yield by_pipe[pipe], by_pipe[pipe].told()


class _ToPipe(logging.Handler):
    """Sends progress messages to the process that gives the orders. When that process is gone, the OSError
    reaches whoever reports, and ends the run."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__()
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        self._pipe.send(ProgressMessage(record.getMessage()))


def serve(pipe: Connection) -> None:
    """Carry out orders until None comes, or nobody is there to give any."""
    # Ctrl-C reaches every process of a terminal; whoever gives the orders says when to stop, once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    with suppress(KeyboardInterrupt, EOFError, OSError), ExitStack() as stack, progress_to(_ToPipe(pipe)):
        up: ManagedCluster | None = None
        while (order := pipe.recv()) is not None:
            fresh = up is None or up.spec != order.experiment.cluster or not order.reuse
            if fresh:
                stack.close()
                try:
                    up = stack.enter_context(_started(order))
                except KafkaChaosError as error:
                    up = None
                    pipe.send(RequestFinished(error=str(error), began=False))
                    continue
            assert up is not None, "it was just started, or was there"
            pipe.send(_carried_out(order, up, pipe, fresh=fresh))


def _started(order: RunRequest) -> ManagedCluster:
    spec = order.experiment.cluster
    report_progress(
        f"starting Kafka {spec.version}: {spec.brokers} brokers, {spec.controllers} controller(s)"
    )
    return ManagedCluster(spec, log_folder=order.logs)


def _carried_out(
    order: RunRequest, cluster: ManagedCluster, pipe: Connection, *, fresh: bool
) -> RequestFinished:
    began = time.monotonic()
    broken = None
    arms = tuple(arm for arm in order.experiment.arms if arm.name in order.arms)
    try:
        runs = made(cluster, order.experiment, arms, order.folder, seed=order.seed, skipped=order.skipped)
        for name in runs:
            pipe.send(RunFinished(name))
    except KafkaChaosError as error:
        broken = str(error)
    forget_topics(cluster, order.folder)
    return RequestFinished(time.monotonic() - began, broken, fresh=fresh)


def forget_topics(cluster: ManagedCluster, folder: Path) -> None:
    """Delete what the runs in a folder have written: all has been read, and a broker that dies later would
    have to recover it."""
    for path in folder.glob(f"*/{RUN_FILE}"):
        with suppress(KafkaChaosError):
            cluster.admin().delete(RunMeta.load(path.parent).topic)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    # Once: what is being undone then must not be interrupted again.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
