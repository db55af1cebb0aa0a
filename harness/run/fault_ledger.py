"""Keeps account of the faults of one run: aims, injects, verifies, heals, and journals every moment of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from faults.base import Evidence, FaultSpec, Injection, InjectionContext
from harness.cluster import state_records
from harness.model.errors import FaultError, KafkaChaosError
from harness.model.journal import FaultPhase, RowSink
from harness.model.run import FaultWindow
from harness.model.secrets import hidden


@dataclass
class OpenFault:
    """One injected fault that is not healed yet, or was."""

    name: str
    kind: str
    scene: InjectionContext
    injection: Injection
    opened_ns: int
    verified: bool = False
    evidence: str = ""
    undone: bool = False
    closed_ns: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class FaultDeferred(Exception):
    """A fault was not injected now: another one holds the process of a node that it chose."""


class FaultLedger:
    """All faults of a run on the cluster called `cluster`. May be used from several threads.

    `scene` makes the scene of an injection from its name. What is open stands in the records of this machine
    too (`harness.cluster.state_records`), so that it can be healed when this process is gone.
    """

    def __init__(self, scene: Callable[[str], InjectionContext], sink: RowSink, cluster: str) -> None:
        self.scene = scene
        self._sink = sink
        self._cluster = cluster
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._faults: list[OpenFault] = []

    def reserve(self, spec: FaultSpec) -> str:
        """The name of the next injection of this fault. Random choices hang on it, so that whoever injects
        from several threads takes names in order first."""
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
        """Inject a fault now; its window opens at the moment of the decision. `name` was reserved for it,
        `why` is journaled with the decision; `topic` is another than the scene's.

        Raises:
            FaultError, ClusterError: the target matches nothing, or the injection failed; journaled too. A
                half-applied fault stays open until `heal_all`.
            PutOff: it is `yielding`, and another open fault has halted a node that it would halt.
        """
        kind = spec.name()
        name = name or self.reserve(spec)
        opened_ns = time.time_ns()
        decided = {"spec": spec.model_dump(mode="json", by_alias=True), **(why or {})}
        self._note(name, kind, FaultPhase.DECIDED, "", decided)
        try:
            scene = self.scene(name)
            scene = scene if topic is None else replace(scene, topic=topic, chosen={})
            injection = spec.aim(scene)
            fault = OpenFault(name, kind, scene, injection, opened_ns)
            chosen = {
                "nodes": injection.nodes,
                "injection": injection.model_dump(mode="json"),
                "chosen": [
                    {"target": target.model_dump(mode="json", by_alias=True), "nodes": nodes}
                    for target, nodes in scene.chosen.items()
                ],
            }
            self._note(name, kind, FaultPhase.AIMED, injection.target, chosen)
            with self._lock:
                holder = self._holder(injection) if yielding else None
                if holder is None:
                    state_records.open_fault(self._cluster, _record(fault))
                    self._faults.append(fault)
            if holder is not None:
                why_not = f"{holder.name} holds {holder.injection.target}"
                self._note(name, kind, FaultPhase.PUT_OFF, injection.target, {"what": why_not})
                raise FaultDeferred(why_not)
            injection.apply(scene)
        except KafkaChaosError as error:
            self._note(name, kind, FaultPhase.FAILED, "", {"error": str(error)})
            raise
        self._note(name, kind, FaultPhase.INJECTED, injection.target, {})
        return fault

    def _holder(self, injection: Injection) -> OpenFault | None:
        """The open fault that has halted a node which this one would halt."""
        if not injection.stops_process:
            return None
        return next(
            (
                fault
                for fault in self._faults
                if fault.closed_ns is None
                and fault.injection.stops_process
                and set(fault.injection.nodes) & set(injection.nodes)
            ),
            None,
        )

    def verify(self, fault: OpenFault) -> bool:
        """Wait for the fault's effect; whether it was seen is journaled and kept."""
        evidence = fault.injection.verify(fault.scene)
        fault.verified, fault.evidence = evidence.seen, evidence.what
        self._note_evidence(fault, FaultPhase.VERIFIED, evidence)
        return evidence.seen

    def heal(self, fault: OpenFault) -> None:
        """Heal one fault; a second call does nothing.

        Raises:
            FaultError, ClusterError: it cannot be healed; journaled, and the window stays open. While other
                faults are open it is no error that the cluster is not whole: `heal_all` looks again.
        """
        with fault.lock:
            if fault.closed_ns is not None:
                return
            try:
                self._undo(fault)
                self._see_healed(fault)
            except FaultError:
                if not fault.undone or not self._others_open(fault):
                    raise

    def take_back(self, fault: OpenFault) -> None:
        """Undo one fault without waiting to see the cluster whole: it stays open until `heal_all`.

        Raises:
            FaultError, ClusterError: it cannot be undone; journaled.
        """
        with fault.lock:
            if fault.closed_ns is None and not fault.undone:
                self._undo(fault)

    def heal_all(self) -> list[str]:
        """Undo whatever is open, the last first, then see each healed. Returns what went wrong instead of
        raising, so that one failure does not keep the others open."""
        return list((self._each(self._undo) | self._each(self._see_healed)).values())

    def undo_all(self) -> list[str]:
        """Undo whatever is open without waiting to see it healed, as the last act of a run that breaks; the
        records stay. Returns what went wrong."""
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
        """A node has started again: whatever its restart took away from open faults is applied anew.

        Raises:
            FaultError, ClusterError: that could not be done; journaled.
        """
        for fault in self._faults:
            if fault.undone or node not in fault.injection.nodes:
                continue
            try:
                again = fault.injection.restarted(fault.scene, node)
            except KafkaChaosError as error:
                self._note_of(fault, FaultPhase.FAILED, {"error": str(error), "restarted": node})
                raise
            if again:
                self._note_of(fault, FaultPhase.REAPPLIED, {"restarted": node})

    def _undo(self, fault: OpenFault) -> None:
        try:
            # Before the act: starting a node must not apply again what is being taken back.
            fault.undone = True
            fault.injection.undo(fault.scene)
        except KafkaChaosError as error:
            fault.undone = False
            self._note_of(fault, FaultPhase.FAILED, {"error": str(error)})
            raise
        self._note_of(fault, FaultPhase.UNDONE, {})

    def _see_healed(self, fault: OpenFault) -> None:
        try:
            evidence = fault.injection.healed(fault.scene)
        except KafkaChaosError as error:
            self._note_of(fault, FaultPhase.FAILED, {"error": str(error)})
            raise
        if not evidence.seen:
            fault.verified, fault.evidence = False, evidence.what
            self._note_evidence(fault, FaultPhase.VERIFIED, evidence)
        fault.closed_ns = time.time_ns()
        state_records.close_fault(self._cluster, fault.scene.tag)
        self._note_of(fault, FaultPhase.HEALED, {"what": evidence.what, **evidence.facts})

    def _others_open(self, fault: OpenFault) -> bool:
        return any(other is not fault and other.closed_ns is None for other in self._faults)

    def open_names(self) -> str:
        """Open faults in words, for a progress line."""
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

    def _note_evidence(self, fault: OpenFault, seen: FaultPhase, evidence: Evidence) -> None:
        phase = seen if evidence.seen else FaultPhase.NOT_VERIFIED
        self._note_of(fault, phase, {"what": evidence.what, **evidence.facts})

    def _note_of(self, fault: OpenFault, phase: FaultPhase, detail: dict[str, Any]) -> None:
        self._note(fault.name, fault.kind, phase, fault.injection.target, detail)

    def _note(self, name: str, kind: str, phase: FaultPhase, target: str, detail: dict[str, Any]) -> None:
        self._sink.append(
            {
                "at_ns": time.time_ns(),
                "fault": name,
                "kind": kind,
                "phase": phase.value,
                "target": target,
                "detail": hidden(json.dumps(detail, default=str)),
            }
        )


def _record(fault: OpenFault) -> state_records.OpenFaultRecord:
    return state_records.OpenFaultRecord(
        name=fault.name,
        kind=fault.kind,
        topic=fault.scene.topic,
        session_seconds=fault.scene.session_seconds,
        tag=fault.scene.tag,
        opened_ns=fault.opened_ns,
        injection=fault.injection.model_dump(mode="json"),
        beside=fault.scene.beside,
    )
