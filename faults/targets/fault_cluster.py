"""What faults need of a cluster: a protocol, so that they know nothing of containers or of the harness."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

from harness.model.broker_views import AccessRule, FeatureLevels, SettingState, TopologyView
from harness.model.request_rules import RequestRule, RuleCounts


class CommandOutput(Protocol):
    """Exit code and text of a command."""

    @property
    def code(self) -> int: ...
    @property
    def text(self) -> str: ...


class FaultProxies(Protocol):
    """The proxies in front of the listeners of all nodes, as one. Every method raises ClusterError if a proxy
    of a running node does not answer."""

    def add(self, rule: RequestRule) -> None:
        """Tell every proxy of a rule. One that has it already keeps it as it is."""

    def lacking(self, rule_id: str) -> tuple[int, ...]:
        """The nodes whose proxies run and do not have this rule."""

    def remove(self, rule_id: str, held: Literal["release", "drop"]) -> None:
        """Remove a rule everywhere, and release or drop what it holds; harmless if there is none."""

    def counts(self, rule_id: str) -> dict[int, RuleCounts]:
        """What a rule has done, by node, also after it was removed."""

    def passed(self) -> dict[tuple[str, str], int]:
        """How many requests have arrived at all nodes since the cluster began, by API and client.id."""


class FaultCluster(Protocol):
    """The part of a cluster that faults may use. Nodes are identified by their Kafka node id.

    Every method raises ClusterError if the engine refuses.
    """

    @property
    def broker_ids(self) -> tuple[int, ...]: ...
    @property
    def controller_ids(self) -> tuple[int, ...]: ...
    @property
    def zookeeper_ids(self) -> tuple[int, ...]: ...

    @property
    def application_ids(self) -> tuple[int, ...]:
        """The instances of the application under test."""

    @property
    def client_address(self) -> str:
        """The source address of clients on the harness's machine, as a node sees it."""

    @property
    def bootstrap(self) -> str:
        """`host:port` of brokers, for clients."""

    @property
    def proxies(self) -> FaultProxies | None:
        """The proxies in front of its nodes; None: it has none."""

    def endpoint(self, number: int) -> tuple[str, int]:
        """Host and port where clients reach a broker."""

    def client_socket(self, number: int, timeout: float) -> socket.socket:
        """An open connection there, over TLS and logged in where it is required, with this time-out in
        seconds; raises OSError."""

    def host_name(self, number: int) -> str:
        """The name at which other nodes reach a node."""

    def topic_id(self, topic: str) -> str | None:
        """The id (UUID) of a topic; None: there is no such topic, or topics have no ids (before Kafka
        2.8)."""

    def address(self, number: int) -> str: ...
    def view(self, topics: Iterable[str], timeout: float = ...) -> TopologyView: ...

    def controller(self) -> int | None:
        """The active controller, according to the first broker that knows it."""

    def coordinator(self, key: str, *, transactional: bool) -> int | None:
        """The broker that coordinates a group (or a transactional id); None: there is none now."""

    def share_coordinator(self, group: str, topic: str, partition: int) -> int | None:
        """The broker that stores the state of a share group in a partition; None: there is none now."""

    def kill(self, number: int) -> None: ...
    def terminate(self, number: int) -> None: ...
    def pause(self, number: int) -> None: ...
    def unpause(self, number: int) -> None: ...
    def is_paused(self, number: int) -> bool: ...
    def start_node(self, number: int) -> None: ...
    def is_running(self, number: int) -> bool: ...
    def exit_code(self, number: int) -> int | None: ...

    def started_ns(self, number: int) -> int:
        """When the node's process was last started, in nanoseconds since the epoch by the engine's clock."""

    def ended_ns(self, number: int) -> int:
        """When the node's process last ended, as `started_ns`."""

    def log_since(self, number: int, since_ns: int) -> str:
        """What the node has printed since this time (nanoseconds since the epoch)."""

    def in_network(self, number: int, script: str) -> CommandOutput:
        """Run a bash script of the toolbox image in a running (or paused) node's network namespace."""

    def in_files(self, number: int, script: str) -> CommandOutput:
        """Run a bash script of the toolbox image, as root, with the volumes of a node that may be stopped."""

    def in_node(self, number: int, script: str) -> CommandOutput:
        """Run a sh script inside a running node's own container, as root."""

    def in_cgroups(self, number: int, script: str) -> CommandOutput:
        """Run a bash script of the toolbox image, as root, that sees a running node's process as PID 1 and
        the engine's control groups, writable, in /cgroup."""

    def inspect(self, number: int) -> dict[str, Any]:
        """The engine's description of the node's container (`docker inspect`)."""

    def limit(self, number: int, **limits: int) -> None:
        """Change limits of the node's container (`cpu_quota`, `cpu_period`, `mem_limit`, ...: docker-py)."""

    def stats(self, number: int) -> dict[str, Any]:
        """One sample of the node's resource use (`docker stats`)."""

    def elect(self, topic: str, partitions: Iterable[int], *, unclean: bool) -> dict[int, str | None]:
        """Request an election of each partition. Returns the name of the error by partition; None: it was
        done."""

    def reassign(self, topic: str, replicas: dict[int, tuple[int, ...] | None]) -> dict[int, str | None]:
        """Assign other replicas to partitions (None: cancel a running move); errors as in `elect`."""

    def replace_node(self, number: int, version: str) -> None:
        """Give a stopped node a container of another Kafka version in place of its own, with the same name,
        address, ports, labels and volumes, and not started yet; does nothing if it is of this version."""

    def lagging_voters(self) -> tuple[int, ...]:
        """The controllers whose metadata log has not all of what a majority has."""

    def features(self, number: int) -> FeatureLevels | None:
        """The features that a broker's version supports, and the finalised ones; None: no answer."""

    def set_features(self, levels: Mapping[str, int]) -> dict[str, str]:
        """Finalise levels of features, in this order; returns the reason of each refusal by feature."""

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete the records of partitions below an offset each, or the end of a shorter one (KIP-107)."""

    def settings(self, number: int, topic: str | None) -> Mapping[str, SettingState] | None:
        """The settings of a topic as a broker holds them, or the broker's own (None), by name; None: it does
        not answer."""

    def change_settings(
        self, number: int | None, topic: str | None, values: Mapping[str, str | None]
    ) -> str | None:
        """Change settings of a topic, or of the broker `number` (None deletes a setting); returns why it was
        refused, None: it was done."""

    def client_quotas(self, number: int) -> Mapping[str, Mapping[str, float]] | None:
        """Every quota of clients that a broker holds, by what it is for ("client-id <default>"); None: it
        does not answer."""

    def set_client_quota(self, client: str | None, values: Mapping[str, float | None]) -> str | None:
        """Set quotas of a client.id (None: of each without one; a value of None removes it); returns why it
        was refused, None: it was done."""

    def throttle_ms(
        self, number: int, client: str, way: Literal["produce", "fetch"], size: int
    ) -> int | None:
        """For how many milliseconds a broker throttles this client.id after one request of about `size`
        bytes, which writes and reads nothing; None: it does not answer."""

    def create_partitions(self, topic: str, count: int) -> str | None:
        """Add partitions to a topic until it has this number; returns why it was refused (None: done)."""

    @property
    def client_principal(self) -> str | None:
        """The principal of the harness's clients; None: not known."""

    def access_rules(self, number: int) -> tuple[AccessRule, ...] | None:
        """The rules of access that a broker's authorizer has; None: it does not answer."""

    def change_access_rules(self, rules: tuple[AccessRule, ...], *, add: bool) -> str | None:
        """Add rules of access, or remove them; returns why it was refused, None: it was done."""

    def refusal(self, number: int, rule: AccessRule) -> str | None:
        """The error with which a broker answers the harness's user who tries what the rule is about; None:
        none, or it does not answer."""
