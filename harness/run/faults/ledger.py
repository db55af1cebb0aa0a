"""The faults of one run: aims, injects, verifies and heals them, and journals every step of this."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from harness.cluster import state_records
from harness.model.errors import FaultError, KafkaChaosError
from harness.model.journal import FaultPhase, RowSink
from harness.model.run import ChangedConfig, Deletion, FaultWindow
from harness.model.secrets import redact
from harness.run.faults.open_fault import OpenFault


class FaultDeferred(Exception):
    """A fault was not injected now, because an open fault has stopped the process of a node that it chose."""


class FaultLedger:
    """All faults of a run on the cluster called `cluster`. Safe to use from several threads.

    `context_of` makes the context of an injection from its name. Open faults are also recorded on this
    machine (`harness.cluster.state_records`), so that another process can heal them when this one is gone.
    """

    def __init__(self, context_of: Callable[[str], InjectionContext], sink: RowSink, cluster: str) -> None:
        self.context_of = context_of
        self._sink = sink
        self._cluster = cluster
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._faults: list[OpenFault] = []

    def reserve_name(self, spec: FaultSpec) -> str:
        """The name of the next injection of this fault. Random choices depend on it, so a caller that injects
        from several threads reserves the names first, in order."""
        kind = spec.name()
        with self._lock:
            self._numbers[kind] = self._numbers.get(kind, 0) + 1
            return f"{kind}-{self._numbers[kind]}"

    def inject(
        self,
        spec: FaultSpec,
        name: str | None = None,
        why: dict[str, Any] | None = None,
        *,
        yielding: bool = False,
        topic: str | None = None,
    ) -> OpenFault:
        """Inject a fault now; its window opens now, before it is aimed.

        `name` was reserved for it, `why` is journaled with the decision, and `topic` is used instead of the
        context's. `yielding`: do not stop a node that another open fault has stopped.

        Raises:
            FaultError, ClusterError: the target matches nothing, or the injection failed; journaled too. A
                half-applied fault stays open until `heal_all`.
            FaultDeferred: it is `yielding`, and another open fault has stopped a node that it would stop.
        """
        kind = spec.name()
        name = name or self.reserve_name(spec)
        opened_ns = time.time_ns()
        decision = {"spec": spec.model_dump(mode="json", by_alias=True), **(why or {})}
        self._journal(name, kind, FaultPhase.DECIDED, "", decision)
        try:
            context = self.context_of(name)
            context = context if topic is None else replace(context, topic=topic, chosen={})
            injection = spec.aim(context)
            fault = OpenFault(name, kind, context, injection, opened_ns)
            chosen = {
                "nodes": injection.nodes,
                "injection": injection.model_dump(mode="json"),
                "chosen": [
                    {"target": target.model_dump(mode="json", by_alias=True), "nodes": nodes}
                    for target, nodes in context.chosen.items()
                ],
            }
            self._journal(name, kind, FaultPhase.AIMED, injection.target, chosen)
            with self._lock:
                blocking = self._blocking_fault(injection) if yielding else None
                if blocking is None:
                    state_records.open_fault(self._cluster, fault.record())
                    self._faults.append(fault)
            if blocking is not None:
                why_not = f"{blocking.name} holds {blocking.injection.target}"
                self._journal(name, kind, FaultPhase.PUT_OFF, injection.target, {"what": why_not})
                raise FaultDeferred(why_not)
            injection.apply(context)
        except KafkaChaosError as error:
            self._journal(name, kind, FaultPhase.FAILED, "", {"error": str(error)})
            raise
        self._journal(name, kind, FaultPhase.INJECTED, injection.target, {})
        return fault

    def _blocking_fault(self, injection: Injection) -> OpenFault | None:
        """The open fault that has stopped a node which this injection would stop."""
        if injection.stops_process:
            for fault in self._faults:
                stops = fault.closed_ns is None and fault.injection.stops_process
                if stops and set(fault.injection.nodes) & set(injection.nodes):
                    return fault
        return None

    def verify(self, fault: OpenFault) -> bool:
        """Wait for the fault's effect; journals and returns whether it was seen."""
        evidence = fault.injection.verify(fault.context)
        self._take(evidence, fault)
        return evidence.seen

    def heal(self, fault: OpenFault) -> None:
        """Heal one fault; a second call does nothing.

        Raises:
            FaultError, ClusterError: it cannot be healed; journaled, and the window stays open. While other
                faults are open, a cluster that is not healthy again is no error: `heal_all` looks again.
        """
        with fault.lock:
            if fault.closed_ns is not None:
                return
            try:
                self._undo(fault)
                self._see_healed(fault)
            except FaultError:
                if not fault.undone or all(
                    other is fault or other.closed_ns is not None for other in self._faults
                ):
                    raise

    def undo(self, fault: OpenFault) -> None:
        """Undo one fault without waiting until the cluster is healthy: it stays open until `heal_all`.

        Raises:
            FaultError, ClusterError: it cannot be undone; journaled.
        """
        with fault.lock:
            if fault.closed_ns is None and not fault.undone:
                self._undo(fault)

    def heal_all(self) -> list[str]:
        """Undo every open fault, the last one first, then wait until each is healed. Returns what went wrong
        instead of raising, so that one failure does not keep the others open."""
        return list((self._each(self._undo) | self._each(self._see_healed)).values())

    def undo_all(self) -> list[str]:
        """Undo every open fault without waiting until it is healed, when a run breaks; the records of this
        machine stay. Returns what went wrong."""
        return list(self._each(self._undo).values())

    def _each(self, step: Callable[[OpenFault], None]) -> dict[str, str]:
        failures: dict[str, str] = {}
        for fault in reversed(self._faults):
            with fault.lock:
                if fault.closed_ns is not None:
                    continue
                try:
                    step(fault)
                except KafkaChaosError as error:
                    failures[fault.name] = f"{fault.name} could not be healed: {error}"
        return failures

    def restarted(self, node: int) -> None:
        """Apply again what the restart of a node has removed of open faults.

        Raises:
            FaultError, ClusterError: a fault could not be applied again; journaled.
        """
        for fault in self._faults:
            # Asked before the lock too: the undo of a fault may be what has started the node.
            if fault.undone or node not in fault.injection.nodes:
                continue
            try:
                with fault.applying:
                    again = not fault.undone and fault.injection.restarted(fault.context, node)
            except KafkaChaosError as error:
                self._journal_of(fault, FaultPhase.FAILED, {"error": str(error), "restarted": node})
                raise
            if again:
                self._journal_of(fault, FaultPhase.REAPPLIED, {"restarted": node})

    def _undo(self, fault: OpenFault) -> None:
        try:
            with fault.applying:
                # Set before the undo: a node that starts now must not get the fault again.
                fault.undone = True
                fault.injection.undo(fault.context)
        except KafkaChaosError as error:
            fault.undone = False
            self._journal_of(fault, FaultPhase.FAILED, {"error": str(error)})
            raise
        self._journal_of(fault, FaultPhase.UNDONE, {})

    def _see_healed(self, fault: OpenFault) -> None:
        try:
            evidence = fault.injection.healed(fault.context)
        except KafkaChaosError as error:
            self._journal_of(fault, FaultPhase.FAILED, {"error": str(error)})
            raise
        if not evidence.seen or fault.injection.proved_when_healed:
            self._take(evidence, fault)
        fault.closed_ns = time.time_ns()
        state_records.close_fault(self._cluster, fault.context.tag)
        self._journal_of(fault, FaultPhase.HEALED, {"what": evidence.what, **evidence.facts})

    def open_injections(self) -> tuple[Injection, ...]:
        """What is injected now."""
        return tuple(fault.injection for fault in self._faults if fault.closed_ns is None)

    def open_names(self) -> str:
        """The names and targets of the open faults, for a progress message."""
        faults = [fault for fault in self._faults if fault.closed_ns is None]
        return ", ".join(f"{fault.name} ({fault.injection.target})" for fault in faults)

    def windows(self) -> tuple[FaultWindow, ...]:
        return tuple(
            FaultWindow(
                name=fault.name,
                kind=fault.kind,
                target=fault.injection.target,
                opened_ns=fault.opened_ns,
                closed_ns=fault.closed_ns,
                verified=fault.verified,
                evidence=fault.evidence,
            )
            for fault in self._faults
        )

    def deletions(self, topic: str) -> tuple[Deletion, ...]:
        """What the faults have deleted of a topic on purpose, or may have; a record that is deleted had been
        sent before the fault was proved."""
        return tuple(
            Deletion(topic=topic, before=before, at_ns=fault.proved_ns or time.time_ns(), partition=partition)
            for fault in self._faults
            if fault.context.topic == topic
            for partition, before in fault.injection.on_topic.deleted_below.items()
        )

    def changed_configs(self, topic: str) -> tuple[ChangedConfig, ...]:
        """The settings of a topic that faults have set for a time."""
        return tuple(
            ChangedConfig(config=dict(effect.config), until_ns=fault.closed_ns)
            for fault in self._faults
            if (effect := fault.injection.on_topic).config
            and (effect.every_topic or fault.context.topic == topic)
        )

    def partitions(self, topic: str) -> int:
        """The number of partitions that faults have given a topic; 0: none has."""
        effects = (fault.injection.on_topic for fault in self._faults if fault.context.topic == topic)
        return max((effect.partitions or 0 for effect in effects), default=0)

    def _take(self, evidence: Evidence, fault: OpenFault) -> None:
        fault.verified, fault.evidence, fault.proved_ns = evidence.seen, evidence.what, time.time_ns()
        phase = FaultPhase.VERIFIED if evidence.seen else FaultPhase.NOT_VERIFIED
        self._journal_of(fault, phase, {"what": evidence.what, **evidence.facts})

    def _journal_of(self, fault: OpenFault, phase: FaultPhase, detail: dict[str, Any]) -> None:
        self._journal(fault.name, fault.kind, phase, fault.injection.target, detail)

    def _journal(self, name: str, kind: str, phase: FaultPhase, target: str, detail: dict[str, Any]) -> None:
        self._sink.append(
            {
                "at_ns": time.time_ns(),
                "fault": name,
                "kind": kind,
                "phase": phase.value,
                "target": target,
                "detail": redact(json.dumps(detail, default=str)),
            }
        )
