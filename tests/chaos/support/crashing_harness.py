"""A harness that dies: attaches to a running cluster, injects one fault, sees it, and waits to be killed."""

from __future__ import annotations

import importlib
import json
import time
from multiprocessing.connection import Connection
from typing import Any

from faults.shared.fault_spec import KINDS, InjectionContext
from harness.cluster import running_cluster, state_records
from harness.cluster.containers import docker_engine
from harness.model.journal import FaultPhase
from harness.run.faults.ledger import FaultLedger


class Events:
    """Keeps the events of the fault in memory."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def append(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    def at(self, phase: FaultPhase) -> int:
        return int(next(row["at_ns"] for row in self.rows if row["phase"] == phase.value))


def main(sender: Connection, name: str, topic: str, tag: str, module: str, written: dict[str, Any]) -> None:
    """Send the evidence and the times once the fault was verified. `module` is where the spec's class is, so
    that it is known by its kind."""
    importlib.import_module(module)
    spec = KINDS[written["kind"]].model_validate(written)
    record = next(one for one in state_records.recorded_clusters() if one.name == name)
    cluster = running_cluster.attach(docker_engine.connect(), record)
    assert cluster is not None, f"{name} does not run"
    events = Events()
    book = FaultLedger(lambda _: InjectionContext(cluster, topic, 4.0, tag, seed=tag), events, name)
    fault = book.inject(spec)
    seen = book.verify(fault)
    facts = json.loads(events.rows[-1]["detail"])
    decided = events.at(FaultPhase.DECIDED)
    answer = {
        "seen": seen,
        "what": fault.evidence,
        "facts": facts,
        "target": fault.injection.target,
        "nodes": fault.injection.nodes,
        "inject_ms": (events.at(FaultPhase.INJECTED) - decided) / 1e6,
        "seen_ms": (events.rows[-1]["at_ns"] - decided) / 1e6,
    }
    sender.send(json.loads(json.dumps(answer, default=str)))
    time.sleep(600)
