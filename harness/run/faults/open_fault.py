"""One injected fault of a run, from its injection until it is healed."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from faults.shared.fault_spec import Injection, InjectionContext
from harness.cluster import state_records


@dataclass
class OpenFault:
    """One injected fault, open until it is healed."""

    name: str
    kind: str
    context: InjectionContext
    injection: Injection
    opened_ns: int
    verified: bool = False
    evidence: str = ""
    undone: bool = False
    closed_ns: int | None = None
    proved_ns: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    applying: threading.Lock = field(default_factory=threading.Lock)
    """Held while it is undone, or applied again: what is applied again beside its undo would stay."""

    def record(self) -> state_records.OpenFaultRecord:
        """What another process needs to heal it."""
        return state_records.OpenFaultRecord(
            name=self.name,
            kind=self.kind,
            topic=self.context.topic,
            session_seconds=self.context.session_seconds,
            tag=self.context.tag,
            opened_ns=self.opened_ns,
            injection=self.injection.model_dump(mode="json"),
            beside=self.context.beside,
        )
