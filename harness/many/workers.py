"""Workers that make runs: requests and messages, a worker in this process, and processes that make runs in
parallel, each on a cluster of its own.

They are processes and not threads because the producers and samplers of one run must not wait for the
interpreter lock of another. Requests and messages go through a pipe, as plain values; runs are checked by the
process that gives the requests.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType
from typing import IO, Any, Self

from harness.cluster.running_cluster import ClusterHolder
from harness.many.docker_backend import DockerBackend
from harness.model.errors import ClusterError, KafkaChaosError
from harness.model.progress import MessagesTo, notices_to, progress_to, progress_under, report_progress
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Arm, Experiment

CORES_PER_CLUSTER = 4
"""With fewer, clusters compete for processors, and the effect of a fault would depend on the neighbour."""
GIB_PER_CLUSTER = 6
_END_SECONDS = 60.0


def clusters_at_once(cores: int | None = None, memory: int | None = None) -> int:
    """Number of clusters that this machine can run in parallel, at least 1. `memory` is in bytes."""
    cores = os.cpu_count() or 1 if cores is None else cores
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if memory is None else memory
    return max(1, min(cores // CORES_PER_CLUSTER, memory // (GIB_PER_CLUSTER << 30)))


@dataclass(frozen=True)
class RunRequest:
    """Make these runs of an experiment one after the other; each is its arms by the folder that they leave.

    `reuse` allows the worker's present cluster if it has the same spec, `reset` makes that as good as new
    before; a new one leaves its logs in `logs`. Progress is reported under `head`, if there is one.
    """

    experiment: Experiment
    runs: tuple[Mapping[Path, Arm], ...]
    seed: int
    logs: Path
    skipped: tuple[str, ...] = ()
    reuse: bool = True
    reset: bool = False
    delete_topics: bool = False
    head: str | None = None


@dataclass(frozen=True)
class RunFinished:
    """A run folder is complete and can be checked."""

    folder: Path


@dataclass(frozen=True)
class RequestFinished:
    """All runs of a request were made, or `error` says why not. `began`: its cluster came up. `proof`: what
    was verified when that cluster was reset (None: nothing had run on it before)."""

    seconds: float = 0.0
    error: KafkaChaosError | None = None
    began: bool = True
    proof: str | None = None

    @property
    def fresh(self) -> bool:
        """Whether nothing had run on the cluster before."""
        return self.proof is None


WorkerMessage = RunFinished | RequestFinished


def carry_out(
    request: RunRequest, clusters: ClusterHolder, backend: DockerBackend
) -> Iterator[WorkerMessage]:
    """Make the runs of a request; the last message is a `RequestFinished`."""
    began = time.monotonic()
    cluster, error = None, None

    def headed() -> AbstractContextManager[None]:
        return progress_under(request.head, last_part=True) if request.head else nullcontext()

    try:
        if not request.reuse:
            clusters.remove()
        with headed():
            reset = backend.reset if request.reset else None
            cluster = clusters.get(request.experiment.cluster, request.logs, reset)
        began = time.monotonic()
        for arms in request.runs:
            with headed():
                backend.run(cluster, request.experiment, arms, request.seed, request.skipped)
            yield from (RunFinished(folder) for folder in arms)
    except KafkaChaosError as caught:
        error = caught
    if cluster is not None and request.delete_topics:
        # All has been read, and a broker that dies later would have to recover these topics.
        backend.delete_topics(cluster, [folder for arms in request.runs for folder in arms])
    yield RequestFinished(time.monotonic() - began, error, began=cluster is not None, proof=clusters.proof)


class LocalWorker:
    """The only worker, in this process: it works while its messages are waited for."""

    alive = True

    def __init__(self, backend: DockerBackend) -> None:
        self._backend = backend
        self._clusters = ClusterHolder(backend.start)
        self._request: RunRequest | None = None
        self.workers = [self]
        self.spec: ClusterSpec | None = None
        self.replace = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clusters.remove()

    @property
    def busy(self) -> bool:
        return self._request is not None

    def give(self, request: RunRequest) -> None:
        self.spec, self._request = request.experiment.cluster, request

    def stop(self, *, at_once: bool) -> None:  # noqa: ARG002
        self._clusters.remove()

    def messages(self, seconds: float) -> Iterator[tuple[LocalWorker, WorkerMessage]]:
        request, self._request = self._request, None
        if request is None:
            time.sleep(seconds)
            return
        for message in carry_out(request, self._clusters, self._backend):
            yield self, message


class WorkerProcess:
    """One process, seen from the one that gives it requests. `lock` is kept locked until the process ends."""

    def __init__(self, backend: DockerBackend, lock: IO[Any] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        # A connection is what multiprocessing can hand over; the lock goes with the open file.
        held = None if lock is None else Connection(os.dup(lock.fileno()))
        self._process = context.Process(target=serve, args=(theirs, backend, held))
        self._process.start()
        theirs.close()
        self.spec: ClusterSpec | None = None
        self.busy = self.replace = False
        self._stopped = False

    def give(self, request: RunRequest) -> None:
        self.spec, self.busy = request.experiment.cluster, True
        with suppress(OSError):  # the process has ended, which `receive` reports
            self.pipe.send(request)

    def receive(self) -> WorkerMessage | str:
        """Its next message, or line of progress. The request of a process that has ended is broken."""
        message: WorkerMessage | str
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            error = ClusterError(f"the worker process ended with code {self._process.exitcode}")
            message = RequestFinished(error=error)
        if isinstance(message, RequestFinished):
            self.busy = False
        return message

    @property
    def alive(self) -> bool:
        return not self._stopped and self._process.is_alive()

    def stop(self, *, at_once: bool) -> None:
        """Have it end and remove its cluster. `at_once`: its run is interrupted, and faults are healed."""
        self._stopped = True
        if at_once:
            self._process.terminate()
        with suppress(OSError):
            self.pipe.send(None)

    def join(self) -> None:
        self._process.join(_END_SECONDS)


class WorkerPool:
    """Worker processes. Use it as a context manager: at the end every process has removed its cluster."""

    def __init__(self, size: int, backend: DockerBackend, lock: IO[Any] | None = None) -> None:
        self._size = size
        self._backend = backend
        self._lock = lock
        self.workers: Sequence[WorkerProcess] = []

    def __enter__(self) -> Self:
        self.workers = [WorkerProcess(self._backend, self._lock) for _ in range(self._size)]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for worker in self.workers:
            worker.stop(at_once=kind is not None)
        for worker in self.workers:
            worker.join()

    def messages(self, seconds: float) -> Iterator[tuple[WorkerProcess, WorkerMessage]]:
        """The next messages of busy workers; waits at most this long for them."""
        by_pipe = {worker.pipe: worker for worker in self.workers if worker.busy}
        for pipe in wait(list(by_pipe), seconds):
            assert isinstance(pipe, Connection)
            message = by_pipe[pipe].receive()
            if isinstance(message, str):
                report_progress(message)
            else:
                yield by_pipe[pipe], message


Worker = LocalWorker | WorkerProcess
"""Makes runs on one cluster at a time, of which `spec` is the spec, running or about to start. `replace`: its
next request needs a new cluster, because something broke on the present one."""
Workers = LocalWorker | WorkerPool
"""Several workers, as a context manager that leaves no cluster behind."""


def workers_for(size: int, backend: DockerBackend, lock: IO[Any] | None = None) -> Workers:
    """Worker processes; for a single worker none is needed."""
    return LocalWorker(backend) if size == 1 else WorkerPool(size, backend, lock)


def serve(pipe: Connection, backend: DockerBackend, _lock: Connection | None = None) -> None:
    """Carry out requests until None comes, or the process that gives them has ended."""
    # Ctrl-C reaches every process of a terminal; the process that gives the requests says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    # When the process that gives the requests has ended, sending raises OSError, which ends the run.
    to_parent = MessagesTo(pipe.send)
    with suppress(KeyboardInterrupt), progress_to(to_parent), notices_to(to_parent):
        serve_requests(pipe, backend)


def serve_requests(pipe: Connection, backend: DockerBackend) -> None:
    """As `serve`, in a process or thread that is prepared for it."""
    with suppress(EOFError, OSError), ClusterHolder(backend.start) as clusters:
        while (request := pipe.recv()) is not None:
            for message in carry_out(request, clusters, backend):
                pipe.send(message)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    # Once: the cleanup that follows must not be interrupted again.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
