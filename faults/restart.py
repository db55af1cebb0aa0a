"""Restart: nodes are restarted one after another, with the same or with another version of Kafka."""

from __future__ import annotations

import threading
from typing import Any, Literal

from pydantic import Field, PrivateAttr, field_validator

from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.node_versions import in_upgrade_order, last_errors, not_at, versions_of
from faults.shared.process_fault import CLEAN_EXITS, OnNodes, ProcessFault, resolve_nodes, start_stopped
from faults.shared.waiting import REJOIN_SECONDS, describe_unsettled, partition_numbers
from faults.shared.words import node_name
from faults.targets import All, AnyOf, Controllers, Target
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import TopologyView
from harness.model.errors import FaultError
from harness.model.kafka_releases import is_full_version, release_of
from harness.model.polling import poll_within

_EXIT_SECONDS = 60.0
_NODE_SECONDS = 8.0
"""For the restart of one node in a round; 5.5 s on a machine that does nothing else."""


EVERY_BROKER = All(all=True)
"""The default target; with a `version` it means every controller, too."""


class _Recall:
    """Tells an `apply` that is running in another thread that the injection was undone.

    It is not part of the injection's data: it does not affect whether two injections are equal.
    """

    def __init__(self) -> None:
        self.event = threading.Event()
        self.lock = threading.Lock()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Recall)


class Restarted(OnNodes):
    """These nodes were restarted in this order. `started` holds the former start time of each process, and
    `epochs` the former leader epoch of each partition that one of them led. `version` is the version of
    Kafka that they got (None: the same), and `versions` is the former one of each."""

    back = "running and back"
    how: Literal["stop", "kill"] = "stop"
    started: tuple[tuple[int, int], ...]
    epochs: tuple[tuple[int, int], ...] = ()
    version: str | None = None
    versions: tuple[tuple[int, str], ...] = ()

    _recall: _Recall = PrivateAttr(default_factory=_Recall)

    def apply(self, context: InjectionContext) -> None:
        before = dict(self.started)
        for node in self.numbers:
            self._await_whole(context, f"before {node_name(node)} is restarted")
            with self._recall.lock:
                self._refuse_if_recalled()
                if context.cluster.started_ns(node) <= before[node]:
                    self._down(context, node)
                    if self.version is not None:
                        context.cluster.replace_node(node, self.version)
                context.cluster.start_node(node)
        self._await_whole(context, "after the last restart")

    def verify(self, context: InjectionContext) -> Evidence:
        before = dict(self.started)
        times = {node: _times(context, node) for node in self.numbers}
        facts: dict[str, object] = {
            "before_ns": before,
            "ended_ns": {node: ended for node, (ended, _) in times.items()},
            "started_ns": {node: started for node, (_, started) in times.items()},
            "led": dict(self.led),
        }
        for node, (ended, started) in times.items():
            if not context.cluster.is_running(node):
                return Evidence(False, f"{node_name(node)} does not run", facts)
            if started <= before[node]:
                return Evidence(False, f"{node_name(node)} has not been restarted", facts)
            if not before[node] < ended <= started:
                return Evidence(False, f"{node_name(node)} did not end between its two starts", facts)
        for first, second in zip(self.numbers, self.numbers[1:], strict=False):
            if times[second][0] < times[first][1]:
                words = f"{node_name(second)} ended before {node_name(first)} had started again"
                return Evidence(False, words, facts)
        view = context.cluster.view((context.topic,))
        for partition, epoch in self.epochs:
            state = view.partition(context.topic, partition)
            if state is None or state.leader_epoch <= epoch:
                return Evidence(False, f"leadership of partition {partition} did not move", facts)
        facts["leader_epochs"] = {"before": dict(self.epochs), "now": _epochs(view, context.topic)}
        away = ", ".join(f"{(started - ended) / 1e9:.1f} s" for ended, started in times.values())
        what = f"one after another, processes down for {away}"
        if self.version is not None:
            facts |= {"version": self.version, "versions_before": dict(self.versions)}
            if (other := not_at(context.cluster, self.numbers, self.version)) is not None:
                return Evidence(False, other, facts)
            former = " and ".join(sorted({version for _, version in self.versions}))
            order = ", ".join(map(node_name, self.numbers))
            what = f"from Kafka {former} to {self.version} in the order {order}; {what}"
        if self.epochs:
            what += f"; leadership moved of partition {', '.join(str(part) for part, _ in self.epochs)}"
        return Evidence(True, what, facts)

    def undo(self, context: InjectionContext) -> None:
        self._recall.event.set()
        with self._recall.lock:
            start_stopped(context.cluster, self.numbers)

    def healed(self, context: InjectionContext) -> Evidence:
        back = super().healed(context)
        if self.version is None:
            return back
        other = not_at(context.cluster, self.numbers, self.version)
        if other is not None:
            return Evidence(False, other)
        return Evidence(True, f"{self.target} is back, and every ISR is complete, with Kafka {self.version}")

    def _down(self, context: InjectionContext, node: int) -> None:
        """End the node's process and wait until it has ended."""
        cluster = context.cluster
        if cluster.is_running(node):
            if self.how == "kill":
                cluster.kill(node)
            else:
                cluster.terminate(node)
        if poll_within(_EXIT_SECONDS, lambda: "runs" if cluster.is_running(node) else None) is not None:
            raise FaultError(
                "a node that is being restarted did not end",
                where=node_name(node),
                expected=f"ended within {_EXIT_SECONDS:g} s",
                next_step="see whether another fault has paused it, and its log",
            )
        code = cluster.exit_code(node)
        if self.how == "stop" and code not in CLEAN_EXITS:
            raise FaultError(
                "a node that is being restarted did not end cleanly",
                where=node_name(node),
                expected="exit code 0 or 143",
                found=f"exit code {code}",
                next_step="see its log",
            )

    def _await_whole(self, context: InjectionContext, when: str) -> None:
        """Wait until everything runs, answers, is registered and in sync.

        Raises:
            FaultError: not within 90 s, or the restart was undone meanwhile.
        """
        left = poll_within(
            REJOIN_SECONDS,
            lambda: None if self._recall.event.is_set() else describe_unsettled(context, self.numbers),
        )
        self._refuse_if_recalled()
        if left is not None:
            raise FaultError(
                "a rolling restart cannot continue",
                where=when,
                expected=f"every broker registered and in every ISR, within {REJOIN_SECONDS:g} s",
                found="; ".join(
                    (left, *(last_errors(context.cluster, self.numbers) if self.version else ()))
                ),
                next_step="does another open fault keep a replica out of the ISR?",
            )

    def _refuse_if_recalled(self) -> None:
        if self._recall.event.is_set():
            raise FaultError(
                "a rolling restart was undone before its end",
                where=self.target,
                next_step="give it more time before it is healed: about 10 s per broker",
            )


class Restart(ProcessFault):
    """A rolling restart: every node of the target in turn, ascending by id, the next only when the cluster
    has settled.

    `stop` ends each process by SIGTERM: a controlled shutdown, which moves leadership first; this is how an
    upgrade is done. `kill` ends it by SIGKILL, so that the controller has to detect it and the broker
    recovers its logs. Between two nodes it waits until every broker is registered and answers, every
    partition of the topic has its full ISR, and there is an active controller.

    What Kafka does: other brokers lead the node's partitions meanwhile; with acks=all and min.insync.replicas
    at least one below the replication factor writes continue, except while leadership moves. Leadership does
    not come back by itself before the controller's next check (leader.imbalance.check.interval.seconds, 300):
    request it with `elect`.

    With `version` every node comes back with that version of Kafka: its container is replaced by one of
    another image, with the same name, address, port, labels and data volumes, and with the settings that this
    version knows. Without a target that is every node: controllers first and then brokers, and on the way
    down brokers first, so that no broker is newer than a controller. metadata.version stays as it is:
    `finalize` changes it. A version that does not start with the finalised levels is refused before anything
    starts, and so are ZooKeeper clusters, clusters that kafka-chaos did not start, and an `image` of your
    own. Limits of the container (`cpu_limit`, `memory_limit`) end with it. The nodes keep the version when
    the fault is healed; the next run gets a new cluster (docs/how-to/upgrade.md).

    The fault takes effect when the whole round is over, 5 to 15 s per node; then all nodes run again. If it
    is undone earlier, the node that is down is started and no other one is restarted.

    Proof: each process has started again, in that order, and each ended only after the one before it had
    started (by the engine's clock); every partition that one of them led is in a higher leader epoch. With
    `version`: each node has printed that version since its start, and each broker supports exactly the
    metadata.version of that release (ApiVersions). Healed: the same, every replica is in its ISR, and every
    controller has caught up with the metadata log.
    """

    kind: Literal["restart"] = "restart"
    applications = "all"
    injection = Restarted

    target: Target = Field(
        default=EVERY_BROKER,
        description="the nodes to restart; default: every broker, and with `version` every controller, too",
    )
    how: Literal["stop", "kill"] = Field(
        default="stop", description="`stop`: SIGTERM, controlled shutdown; `kill`: SIGKILL"
    )
    version: str | None = Field(
        default=None, description="the version of Kafka that they come back with, such as 4.1.1"
    )

    @field_validator("version")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None:
            if not is_full_version(value):
                raise ValueError(f"{value!r} is not the full number of a release, such as 4.1.1")
            release_of(value)
        return value

    @property
    def _of_every_node(self) -> bool:
        return self.version is not None and self.target == EVERY_BROKER

    def aim(self, context: InjectionContext) -> Restarted:
        target = (
            AnyOf.model_validate({"any": (EVERY_BROKER, Controllers(controllers=True))})
            if self._of_every_node
            else self.target
        )
        fields: dict[str, Any] = resolve_nodes(context, target)
        if self.version is not None:
            versions = versions_of(context.cluster, fields["numbers"])
            fields["numbers"] = in_upgrade_order(context.cluster, versions, self.version)
            fields |= {"version": self.version, "versions": tuple(versions.items())}
        epochs = _epochs(context.cluster.view((context.topic,)), context.topic)
        return Restarted(
            **fields,
            how=self.how,
            started=tuple((node, context.cluster.started_ns(node)) for node in fields["numbers"]),
            epochs=tuple((number, epochs[number]) for number, _ in fields["led"] if number in epochs),
        )

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        if self.version is not None and (shape.zookeepers or shape.own_ids):
            kind = "a ZooKeeper cluster" if shape.zookeepers else "a cluster that kafka-chaos did not start"
            raise ValueError(f"nodes of {kind} cannot get another version: leave `version` out")
        warnings = super().warnings(shape)
        if not warnings and self.max_brokers_down(shape) and shape.replication_factor == 1:
            return ("with topic.replication_factor 1 a partition has no leader while its broker restarts",)
        return warnings

    def max_brokers_down(self, shape: ClusterShape) -> int:
        return min(1, super().max_brokers_down(shape))

    def seconds_to_effect(self, shape: ClusterShape) -> float:
        nodes = max(1, self.target.max_brokers(shape))
        if self._of_every_node:
            nodes = len({*shape.broker_ids, *shape.controller_ids})
        return _NODE_SECONDS * nodes


def _epochs(view: TopologyView, topic: str) -> dict[int, int]:
    states = ((number, view.partition(topic, number)) for number in partition_numbers(view))
    return {number: state.leader_epoch for number, state in states if state is not None}


def _times(context: InjectionContext, node: int) -> tuple[int, int]:
    """When the node's process last ended and last started, nanoseconds since the epoch."""
    return context.cluster.ended_ns(node), context.cluster.started_ns(node)
