"""The client that writes a run: librdkafka in this process, or the Java client in containers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from harness.cluster import Cluster
from harness.experiment import Arm, Experiment
from harness.java_client import tools_bootstrap
from harness.java_workload import JavaWorkload
from harness.model.journal import SENDS_DIR
from workloads.java_settings import java_properties
from workloads.producers import Workload
from workloads.send_journal import SendJournal
from workloads.tally import Progress


class AnyWorkload(Protocol):
    """What steps need of a workload; `workloads.producers.Workload` says what each means."""

    def start(
        self, step: int, *, records: int | None = ..., seconds: float | None = ..., rate: float | None = ...
    ) -> None: ...

    def finish(self, deadline: float | None = ...) -> bool: ...

    def stop(self) -> None: ...

    def close(self, seconds: float = ...) -> None: ...

    def account_for(self, reads: Path) -> int: ...

    def progress(self) -> Progress: ...

    @property
    def problems(self) -> tuple[str, ...]: ...


def start_workload(
    stack: ExitStack,
    experiment: Experiment,
    arm: Arm,
    *,
    cluster: Cluster,
    topic: str,
    folder: Path,
    run_id: int,
    seed: int,
) -> AnyWorkload:
    """The workload of an arm; its journal is closed with `stack`, and the workload is the caller's to close.

    Raises:
        BadInput: the client refuses the settings.
    """
    sends = folder / SENDS_DIR
    if experiment.workload.client == "java":
        return JavaWorkload(experiment.workload, arm.producer, cluster=cluster, topic=topic, folder=sends)
    journal = SendJournal(sends, topic)
    stack.callback(journal.close)
    return Workload(
        experiment.workload,
        arm.producer,
        bootstrap=cluster.bootstrap,
        topic=topic,
        partitions=experiment.topic.partitions,
        run_id=run_id,
        seed=seed,
        journal=journal,
    )


def properties_of(experiment: Experiment, arm: Arm, cluster: Cluster) -> dict[str, Any]:
    """What the client of an arm is given, by its own names."""
    if experiment.workload.client == "java":
        return dict(java_properties(arm.producer, tools_bootstrap(cluster)))
    return dict(arm.producer.to_librdkafka(cluster.bootstrap))
