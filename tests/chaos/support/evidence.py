"""What a run of the tests proved, in the form that the docs are made of."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.cli.listings import faults
from harness.cluster.containers import docker_engine
from harness.cluster.managed import ManagedCluster
from harness.run.preflight import kernel_probes

Row = dict[str, Any]


@dataclass
class FaultTable:
    """One row per fault that was proved. With `only`, the name of a fault, no other is proved, and the table
    that is written keeps its rows of other faults."""

    only: str | None = None
    rows: list[Row] = field(default_factory=list)

    def write(self, path: Path, cluster: ManagedCluster) -> None:
        """Write docs/faults/evidence.json."""
        machine = _machine(cluster)
        if self.only is not None and path.exists():
            whole = merged(json.loads(path.read_text()), self.only, self.rows, machine)
        else:
            whole = {"machine": machine, "rows": self.rows, "impossible": _impossible()}
        path.write_text(json.dumps(whole, indent=2) + "\n")


def merged(saved: dict[str, Any], fault: str, rows: Sequence[Row], machine: str) -> dict[str, Any]:
    """A saved table with these rows in place of those of the same fault. They name their machine if the rest
    of the table is from another one."""
    place = next((at for at, row in enumerate(saved["rows"]) if row["kind"] == fault), len(saved["rows"]))
    others = [row for row in saved["rows"] if row["kind"] != fault]
    named = [row if machine == saved["machine"] else row | {"machine": machine} for row in rows]
    impossible = [row for row in saved["impossible"] if row["kind"] != fault]
    return saved | {"rows": others[:place] + named + others[place:], "impossible": impossible}


def _machine(cluster: ManagedCluster) -> str:
    info = docker_engine.connect().info()
    kernel = ".".join(platform.release().split(".")[:2])
    return (
        f"Kafka {cluster.spec.version}, {os.cpu_count()} cores, Linux {kernel}, "
        f"Docker {info['ServerVersion']}, cgroup v{info.get('CgroupVersion', '1')}"
    )


def _impossible() -> list[Row]:
    listed = faults.fault_rows(kernel_probes.kernel_capabilities())
    return [{"kind": row["kind"], "reason": row["reason"]} for row in listed if row["possible"] is False]
