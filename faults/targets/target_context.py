"""What targets are resolved against: the live cluster at one moment, or only its shape before it starts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faults.shared.fault_cluster import FaultCluster
from harness.model.broker_views import TopologyView
from harness.model.node_layout import FIRST_APPLICATION_ID, FIRST_CONTROLLER_ID


@dataclass(frozen=True, slots=True)
class TargetContext:
    """The live cluster, and its brokers' `view` of the topic at one moment.

    `groups` are the names of groups in this run, by those in the experiment. `resolved` records every target
    that is resolved, with its nodes.
    """

    cluster: FaultCluster
    view: TopologyView
    topic: str
    seed: str
    groups: Mapping[str, str] = field(default_factory=dict)
    resolved: dict[Any, tuple[int, ...]] = field(default_factory=dict, compare=False)

    def rng(self) -> random.Random:
        """Random choices that depend on the seed alone."""
        return random.Random(self.seed)


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """A cluster and topic before they start, as the experiment describes them.

    `zookeepers` are the servers of a ZooKeeper cluster, where any broker may be the controller (`combined`).
    `disk_mib` is the size of each broker's log dir volume (None: not limited); `skewable` says whether the
    brokers' clocks can be shifted. `applications` is the number of instances of the application under test.
    """

    brokers: int
    controllers: int
    combined: bool
    partitions: int
    replication_factor: int
    zookeepers: tuple[int, ...] = ()
    disk_mib: int | None = None
    skewable: bool = False
    applications: int = 0
    application_in_container: bool = False

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(range(1, self.brokers + 1))

    @property
    def controller_ids(self) -> tuple[int, ...]:
        if self.combined:
            return self.broker_ids
        return tuple(range(FIRST_CONTROLLER_ID, FIRST_CONTROLLER_ID + self.controllers))

    @property
    def application_ids(self) -> tuple[int, ...]:
        return tuple(range(FIRST_APPLICATION_ID, FIRST_APPLICATION_ID + self.applications))
