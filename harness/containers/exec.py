"""Files, commands and memory use of one container."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

from docker.errors import NotFound

from harness.containers.sidecar import ContainerOutput


def files_in(container: Any, folder: str) -> dict[str, bytes]:
    """The files of a folder in a running or stopped container, by name (empty: no such folder)."""
    try:
        chunks, _ = container.get_archive(folder)
    except NotFound:
        return {}
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        return {
            Path(member.name).name: content.read()
            for member in archive.getmembers()
            if (content := archive.extractfile(member)) is not None
        }


def run_in(container: Any, script: str) -> ContainerOutput:
    """Run a sh script inside a running container, as root."""
    code, output = container.exec_run(["sh", "-c", script], user="root")
    return ContainerOutput(int(code), output.decode(errors="replace"))


def memory_mib(container: Any) -> float:
    """Memory use of a running container in MiB, without page cache (like `docker stats`)."""
    stats = container.stats(stream=False, one_shot=True)["memory_stats"]
    details = stats.get("stats", {})
    cache = details.get("total_inactive_file", details.get("inactive_file", 0))
    return float(stats.get("usage", 0) - cache) / 2**20
