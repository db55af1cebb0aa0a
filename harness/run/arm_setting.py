"""One arm of a run: what it is, where it runs, and the metadata of its run at the beginning."""

from __future__ import annotations

import importlib.metadata
import platform
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.model.run import RunMeta
from harness.model.secrets import masked
from harness.spec.experiment import Arm, Experiment
from workloads.base import InputSource
from workloads.records.config.workload_spec import WorkloadSpec


@dataclass(eq=False)
class ArmSetting:
    """An arm, and the cluster, the topic and the folder of its run. No other arm uses `topic`."""

    cluster: ManagedCluster | ExternalCluster
    experiment: Experiment
    arm: Arm
    folder: Path
    seed: int

    def __post_init__(self) -> None:
        # Not derived from the seed: two runs with one seed on one cluster must not mistake each other's
        # records for their own.
        self.run_id = random.SystemRandom().getrandbits(62) + 1
        self.topic = f"{self.experiment.name}-{self.run_id:x}"
        self._partitions = self.experiment.topic.partitions
        self.source: InputSource | None = None
        """What writes the input of an application that reads no topic; `topic` is then its output."""

    @property
    def workload_spec(self) -> WorkloadSpec:
        """What the arm's clients do."""
        return self.experiment.workload_of(self.arm)

    @property
    def partitions(self) -> int:
        """The number of the topic's partitions, which a fault may have raised."""
        return self._partitions

    @property
    def processed_topic(self) -> str:
        """The topic that processors of the topic write to."""
        return f"{self.topic}-processed"

    @property
    def written(self) -> tuple[str, ...]:
        """The topics that the arm's clients write to: `topic`, and that of its processors, if any."""
        return (self.topic,) if self.workload_spec.process is None else (self.topic, self.processed_topic)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the run on its cluster."""
        return self.written

    @property
    def input_name(self) -> str:
        """What the journals call the place to which the arm's clients write: `topic` without a `source`."""
        return self.topic if self.source is None else f"{self.topic}-input"

    @property
    def transaction_seconds(self) -> float | None:
        """transaction.timeout.ms of the producers, in seconds; None if they have no transactions."""
        return self.arm.producer.transaction_timeout() / 1000 if self.workload_spec.transactional else None

    def metadata(
        self,
        topic_config: dict[str, str],
        skipped: tuple[str, ...],
        given: Mapping[str, Any],
    ) -> RunMeta:
        """What is known of the run before its first step. `topic_config` is the topic's, with the arm's
        settings; `skipped` is what cannot be done on this cluster; `given` is the configuration of the
        producers' client, by the client's own names."""
        settings, workload, cluster = self.arm.producer, self.workload_spec, self.cluster
        return RunMeta(
            run_id=self.run_id,
            experiment=self.experiment.name,
            arm=self.arm.name,
            seed=self.seed,
            topic=self.topic,
            partitions=self.partitions,
            partitions_at_start=self.partitions,
            replication_factor=self.experiment.topic.replication_factor,
            topic_config=topic_config,
            producer_config={key: masked(key, str(value)) for key, value in given.items()},
            acks=settings.acks,
            idempotent=settings.enable_idempotence
            or workload.transactions is not None
            or workload.drive.transactional
            or (workload.client == "own" and workload.transactional),
            transactional=workload.transactional,
            max_in_flight=settings.max_in_flight,
            order="sent" if workload.own is None else workload.own.order,
            client=workload.client,
            promise=self.arm.promise,
            cluster=cluster.info(),
            versions=versions(),
            skipped=(*skipped, *cluster.remarks()),
            started_ns=time.time_ns(),
        )


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that take part, by name."""
    names = ("kafka-chaos", "confluent-kafka", "pyspark", "testcontainers")
    installed = {name: importlib.metadata.version(name) for name in names}
    return {"python": platform.python_version(), **installed}
