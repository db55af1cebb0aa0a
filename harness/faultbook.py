"""Keeps account of the faults of one run: injects, verifies, heals, and journals every moment of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from faults.base import FaultSpec, Injection, Scene
from harness.model.errors import KafkaChaosError
from harness.model.journal import FaultPhase, RowSink
from harness.model.run import FaultWindow


@dataclass
class OpenFault:
    """One injected fault that is not healed yet, or was."""

    name: str
    kind: str
    injection: Injection
    opened_ns: int
    verified: bool = False
    evidence: str = ""
    closed_ns: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class FaultBook:
    """All faults of a run. May be used from several threads."""

    def __init__(self, scene: Callable[[str], Scene], sink: RowSink) -> None:
        self._scene = scene
        self._sink = sink
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._faults: list[OpenFault] = []

    def inject(self, spec: FaultSpec) -> OpenFault:
        """Inject a fault now; its window opens at the moment of the decision.

        Raises:
            FaultError, ClusterError: the target matches nothing, or the injection failed; journaled too.
        """
        kind = str(getattr(spec, "kind", type(spec).__name__.lower()))
        with self._lock:
            self._numbers[kind] = self._numbers.get(kind, 0) + 1
            name = f"{kind}-{self._numbers[kind]}"
        opened_ns = time.time_ns()
        self._note(name, kind, FaultPhase.DECIDED, "", {"spec": spec.model_dump(mode="json", by_alias=True)})
        try:
            injection = spec.inject(self._scene(name))
        except KafkaChaosError as error:
            self._note(name, kind, FaultPhase.FAILED, "", {"error": str(error)})
            raise
        fault = OpenFault(name, kind, injection, opened_ns)
        with self._lock:
            self._faults.append(fault)
        self._note(name, kind, FaultPhase.INJECTED, injection.target, {})
        return fault

    def verify(self, fault: OpenFault) -> bool:
        """Wait for the fault's effect; whether it was seen is journaled and kept."""
        evidence = fault.injection.verify()
        fault.verified, fault.evidence = evidence.seen, evidence.what
        phase = FaultPhase.VERIFIED if evidence.seen else FaultPhase.NOT_VERIFIED
        detail = {"what": evidence.what, **evidence.facts}
        self._note(fault.name, fault.kind, phase, fault.injection.target, detail)
        return evidence.seen

    def heal(self, fault: OpenFault) -> None:
        """Heal one fault; a second call does nothing.

        Raises:
            FaultError, ClusterError: it cannot be healed; journaled, and the window stays open.
        """
        with fault.lock:
            if fault.closed_ns is not None:
                return
            try:
                done = fault.injection.heal()
            except KafkaChaosError as error:
                self._note(
                    fault.name, fault.kind, FaultPhase.FAILED, fault.injection.target, {"error": str(error)}
                )
                raise
            fault.closed_ns = time.time_ns()
            self._note(fault.name, fault.kind, FaultPhase.HEALED, fault.injection.target, {"what": done})

    def heal_all(self) -> list[str]:
        """Heal whatever is open, the last first; returns what went wrong instead of raising, so that one
        failure does not keep the others open."""
        failures = []
        for fault in reversed(self._faults):
            try:
                self.heal(fault)
            except KafkaChaosError as error:
                failures.append(f"{fault.name} could not be healed: {error}")
        return failures

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

    def _note(self, name: str, kind: str, phase: FaultPhase, target: str, detail: dict[str, Any]) -> None:
        self._sink.append(
            {
                "at_ns": time.time_ns(),
                "fault": name,
                "kind": kind,
                "phase": phase.value,
                "target": target,
                "detail": json.dumps(detail, default=str),
            }
        )
