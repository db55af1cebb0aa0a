"""One arm of a run: what it is, and where it runs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.spec.experiment import Arm, Experiment
from workloads.config.workload_spec import WorkloadSpec


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

    @property
    def workload_spec(self) -> WorkloadSpec:
        """What the arm's clients do."""
        return self.experiment.workload_of(self.arm)

    @property
    def partitions(self) -> int:
        return self.experiment.topic.partitions

    @property
    def processed_topic(self) -> str:
        """The topic that processors of the topic write to."""
        return f"{self.topic}-processed"

    @property
    def written(self) -> tuple[str, ...]:
        """The topics that the arm's clients write to: `topic`, and that of its processors, if any."""
        return (self.topic,) if self.workload_spec.process is None else (self.topic, self.processed_topic)

    @property
    def transaction_seconds(self) -> float | None:
        """transaction.timeout.ms of the producers, in seconds; None if they have no transactions."""
        return self.arm.producer.transaction_timeout() / 1000 if self.workload_spec.transactional else None
