"""A harness that dies: attaches to a running cluster, injects one fault, sees it, and waits to be killed.

    python -m tests.chaos.support.crashing_harness CLUSTER TOPIC TAG MODULE < spec.json

Prints one line of JSON once the fault was verified: the evidence and the times. `MODULE` is where the
spec's class is, so that it is known by its kind.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

from faults.base import KINDS, InjectionContext
from harness.cluster import running, state_records
from harness.containers import engine
from harness.model.journal import FaultPhase
from harness.run.fault_ledger import FaultLedger


class Events:
    """Keeps the events of the fault in memory."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def append(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    def at(self, phase: FaultPhase) -> int:
        return int(next(row["at_ns"] for row in self.rows if row["phase"] == phase.value))


def main(name: str, topic: str, tag: str, module: str) -> None:
    importlib.import_module(module)
    written = json.load(sys.stdin)
    spec = KINDS[written["kind"]].model_validate(written)
    record = next(one for one in state_records.recorded_clusters() if one.name == name)
    cluster = running.attach(engine.connect(), record)
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
    print(json.dumps(answer, default=str), flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
