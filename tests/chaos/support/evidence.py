"""What a run of the tests proved, in the form that the docs are made of."""

from __future__ import annotations

import os
import platform
from typing import Any

from harness.catalog import faults
from harness.cluster.managed import ManagedCluster
from harness.containers import engine
from harness.preflight import kernel_probes


def of(cluster: ManagedCluster, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The contents of docs/faults/evidence.json."""
    info = engine.connect().info()
    kernel = ".".join(platform.release().split(".")[:2])
    machine = (
        f"Kafka {cluster.spec.version}, {os.cpu_count()} cores, Linux {kernel}, "
        f"Docker {info['ServerVersion']}, cgroup v{info.get('CgroupVersion', '1')}"
    )
    listed = faults.fault_rows(kernel_probes.kernel_capabilities())
    cannot = [{"kind": row["kind"], "reason": row["reason"]} for row in listed if row["possible"] is False]
    return {"machine": machine, "rows": rows, "impossible": cannot}
