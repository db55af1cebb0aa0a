"""Runs a claim or bug on clusters that the tests share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from harness.cluster.managed import ManagedCluster
from harness.lab.suite.model import SuiteItem, SuiteResult
from harness.lab.suite.runner import run_items
from harness.many.docker_backend import DockerBackend
from harness.many.workers import LocalWorker
from harness.run.executor import Options
from harness.spec.cluster import ClusterSpec

Started = Callable[[ClusterSpec], ManagedCluster]
"""The fixture `started`: a cluster of a spec, which other tests may share."""


class SharedClusters(DockerBackend):
    """Takes clusters from a fixture, which removes them."""

    def __init__(self, started: Started) -> None:
        self._started = started

    def start(self, spec: ClusterSpec, logs: Path) -> AbstractContextManager[Any]:  # noqa: ARG002
        return nullcontext(self._started(spec))


def run_on(item: SuiteItem, started: Started, results: Path) -> SuiteResult:
    """Run one item in this process; `started` gives a cluster of a spec."""
    worker = LocalWorker(SharedClusters(started))
    (result,) = run_items([item], Options(results=results), workers=lambda *_: worker)
    return result
