"""A cluster with the application under test beside it, as faults see it: instances are nodes too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from faults.targets.fault_cluster import CommandOutput
from harness.cluster.live import LiveCluster
from harness.cluster.node_control import RunningNodes
from harness.model.errors import FaultError
from harness.model.node_layout import FIRST_APPLICATION_ID, is_application


class ApplicationInstance(Protocol):
    """An instance of an application; its methods have the meaning of those of a node of the cluster
    (`faults.targets.fault_cluster.FaultCluster`)."""

    @property
    def containers(self) -> RunningNodes:
        """The containers of the application; raises FaultError if it runs in none."""

    def kill(self) -> None: ...
    def terminate(self) -> None: ...
    def pause(self) -> None: ...
    def unpause(self) -> None: ...
    def is_paused(self) -> bool: ...
    def is_running(self) -> bool: ...
    def exit_code(self) -> int | None: ...
    def started_ns(self) -> int: ...
    def ended_ns(self) -> int: ...
    def log_since(self, since_ns: int) -> str: ...
    def stats(self) -> dict[str, Any]: ...


class ApplicationInstances(Protocol):
    """An application that runs."""

    @property
    def instances(self) -> Mapping[int, ApplicationInstance]:
        """Its instances, by their number among the nodes."""

    def end_instance(self, number: int, end: Callable[[Any], None], event: str) -> None:
        """End an instance; `event` says how."""

    def start_instance(self, number: int) -> bool:
        """Start an instance that has ended; returns whether it had."""


class ClusterWithApplication:
    """What faults need of a cluster (`faults.targets.fault_cluster.FaultCluster`), for the nodes of `cluster`
    and the instances of `application` (None: there is none, or it has ended).

    `on_restart` is called with the node id of each instance that a heal has started again.
    """

    def __init__(
        self,
        cluster: LiveCluster,
        application: ApplicationInstances | None,
        on_restart: Callable[[int], None] = lambda _node: None,
    ) -> None:
        self._cluster, self._application = cluster, application
        self.on_restart = on_restart

    def __getattr__(self, name: str) -> Any:
        """What is not about one node (brokers, topics, the controller, ...) is the cluster's own."""
        return getattr(self._cluster, name)

    @property
    def application_ids(self) -> tuple[int, ...]:
        return () if self._application is None else tuple(self._application.instances)

    def kill(self, number: int) -> None:
        if _is_node(number):
            self._cluster.kill(number)
        elif self._application is not None:
            self._application.end_instance(number, lambda instance: instance.kill(), "killed")

    def terminate(self, number: int) -> None:
        if _is_node(number):
            self._cluster.terminate(number)
        elif self._application is not None:
            self._application.end_instance(number, lambda instance: instance.terminate(), "stopped")

    def pause(self, number: int) -> None:
        if _is_node(number):
            self._cluster.pause(number)
        else:
            self._instance(number).pause()

    def unpause(self, number: int) -> None:
        if _is_node(number):
            self._cluster.unpause(number)
        else:
            self._instance(number).unpause()

    def is_paused(self, number: int) -> bool:
        if _is_node(number):
            return self._cluster.is_paused(number)
        return number in self.application_ids and self._instance(number).is_paused()

    def start_node(self, number: int) -> None:
        if _is_node(number):
            self._cluster.start_node(number)
        elif self._application is not None and self._application.start_instance(number):
            self.on_restart(number)

    def is_running(self, number: int) -> bool:
        if _is_node(number):
            return self._cluster.is_running(number)
        return number in self.application_ids and self._instance(number).is_running()

    def exit_code(self, number: int) -> int | None:
        return self._cluster.exit_code(number) if _is_node(number) else self._instance(number).exit_code()

    def started_ns(self, number: int) -> int:
        return self._cluster.started_ns(number) if _is_node(number) else self._instance(number).started_ns()

    def ended_ns(self, number: int) -> int:
        return self._cluster.ended_ns(number) if _is_node(number) else self._instance(number).ended_ns()

    def log_since(self, number: int, since_ns: int) -> str:
        if _is_node(number):
            return self._cluster.log_since(number, since_ns)
        return self._instance(number).log_since(since_ns)

    def address(self, number: int) -> str:
        return self._containers(number).address(number)

    def inspect(self, number: int) -> dict[str, Any]:
        return self._containers(number).inspect(number)

    def limit(self, number: int, **limits: int) -> None:
        if _is_node(number) or number in self.application_ids:
            self._containers(number).limit(number, **limits)

    def stats(self, number: int) -> dict[str, Any]:
        return self._cluster.stats(number) if _is_node(number) else self._instance(number).stats()

    def in_network(self, number: int, script: str) -> CommandOutput:
        return self._containers(number).in_network(number, script)

    def in_node(self, number: int, script: str) -> CommandOutput:
        return self._containers(number).in_node(number, script)

    def in_files(self, number: int, script: str) -> CommandOutput:
        return self._node(number).in_files(number, script)

    def in_cgroups(self, number: int, script: str) -> CommandOutput:
        return self._node(number).in_cgroups(number, script)

    def _node(self, number: int) -> LiveCluster:
        if not _is_node(number):
            raise FaultError("this fault cannot be aimed at an application", where=_name(number))
        return self._cluster

    def _containers(self, number: int) -> RunningNodes:
        return self._cluster if _is_node(number) else self._instance(number).containers

    def _instance(self, number: int) -> ApplicationInstance:
        if self._application is None or number not in self._application.instances:
            raise FaultError("the application does not run any more", where=_name(number))
        return self._application.instances[number]


def _is_node(number: int) -> bool:
    return not is_application(number)


def _name(number: int) -> str:
    return f"application {number - FIRST_APPLICATION_ID}"
