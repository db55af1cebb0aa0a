"""What a run of the tests proved, in the form that the docs are made of."""

from __future__ import annotations

import os
import platform
from typing import Any

from harness import engine, faultlist
from harness.cluster import Cluster


def of(cluster: Cluster, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The contents of docs/faults/evidence.json."""
    info = engine.connect().info()
    kernel = ".".join(platform.release().split(".")[:2])
    machine = (
        f"Kafka {cluster.spec.version}, {os.cpu_count()} cores, Linux {kernel}, "
        f"Docker {info['ServerVersion']}, cgroup v{info.get('CgroupVersion', '1')}"
    )
    listed = faultlist.listed(faultlist.capabilities())
    cannot = [{"kind": row["kind"], "reason": row["reason"]} for row in listed if row["possible"] is False]
    return {"machine": machine, "rows": rows, "impossible": cannot}
