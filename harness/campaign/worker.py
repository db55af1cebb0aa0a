"""Workers that make runs: their requests and messages, and a worker in the current process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from harness.campaign.backend import Backend
from harness.cluster.holder import ClusterHolder
from harness.model.errors import KafkaChaosError
from harness.model.progress import progress_under
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Arm, Experiment


@dataclass(frozen=True)
class RunRequest:
    """Make these runs of an experiment one after the other; each is its arms by the folder that they leave.

    `reuse` allows the worker's present cluster if it has the same spec; a new one leaves its logs in `logs`.
    Progress is reported under `head`, if there is one.
    """

    experiment: Experiment
    runs: tuple[Mapping[Path, Arm], ...]
    seed: int
    logs: Path
    skipped: tuple[str, ...] = ()
    reuse: bool = True
    delete_topics: bool = False
    head: str | None = None


@dataclass(frozen=True)
class RunFinished:
    """A run folder is complete and can be checked."""

    folder: Path


@dataclass(frozen=True)
class RequestFinished:
    """All runs of a request were made, or `error` says why not. `began`: its cluster came up; `fresh`:
    nothing had run on that cluster before."""

    seconds: float = 0.0
    error: KafkaChaosError | None = None
    began: bool = True
    fresh: bool = True


WorkerMessage = RunFinished | RequestFinished


def carry_out(request: RunRequest, clusters: ClusterHolder, backend: Backend) -> Iterator[WorkerMessage]:
    """Make the runs of a request; the last message is a `RequestFinished`."""
    began = time.monotonic()
    cluster, error = None, None
    try:
        if not request.reuse:
            clusters.remove()
        cluster = clusters.get(request.experiment.cluster, request.logs)
        began = time.monotonic()
        for arms in request.runs:
            with progress_under(request.head, last_part=True) if request.head else nullcontext():
                backend.run(cluster, request.experiment, arms, request.seed, request.skipped)
            yield from (RunFinished(folder) for folder in arms)
    except KafkaChaosError as caught:
        error = caught
    if cluster is not None and request.delete_topics:
        # All has been read, and a broker that dies later would have to recover these topics.
        backend.delete_topics(cluster, [folder for arms in request.runs for folder in arms])
    yield RequestFinished(
        time.monotonic() - began, error, began=cluster is not None, fresh=clusters.proof is None
    )


class Worker(Protocol):
    """Makes runs on one cluster at a time."""

    replace: bool
    """Whether its next request needs a new cluster, because something broke on the present one."""

    @property
    def spec(self) -> ClusterSpec | None:
        """The spec of its cluster, running or about to start."""
        ...

    @property
    def busy(self) -> bool: ...

    @property
    def alive(self) -> bool:
        """Whether it can be given requests."""
        ...

    def give(self, request: RunRequest) -> None:
        """Have it carry out a request; its messages come from the pool."""
        ...

    def stop(self, *, at_once: bool) -> None:
        """Have it end, and remove its cluster."""
        ...


class Workers(Protocol):
    """Several workers, as a context manager that leaves no cluster behind."""

    @property
    def workers(self) -> Sequence[Worker]: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...

    def messages(self, seconds: float) -> Iterator[tuple[Worker, WorkerMessage]]:
        """The next messages of busy workers; waits at most this long for them."""
        ...


class LocalWorker:
    """The only worker, in this process: it works while its messages are waited for."""

    alive = True

    def __init__(self, backend: Backend) -> None:
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
