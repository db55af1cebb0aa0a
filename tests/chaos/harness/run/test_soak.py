"""The standard faults again and again in one process: memory and file descriptors stay flat, the verdict too.

`--soak-minutes 60` asks for more than the nightly's few.
"""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import pytest

from harness.cluster.managed import ManagedCluster
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import load

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

SETTLING = 2
"""Runs before memory is looked at: the first ones import, and start Spark."""
MORE_MIB_AN_HOUR = 60.0
MORE_MIB = 40.0
MORE_FILES = 8


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is told as Linux tells it")
def test_memory_files_and_verdict_stay_as_they_are(
    cluster: ManagedCluster, results: Path, request: pytest.FixtureRequest
) -> None:
    minutes = float(request.config.getoption("--soak-minutes"))
    experiment = load("standard")
    began = time.monotonic()
    seen: list[tuple[float, float, int]] = []
    while len(seen) <= SETTLING or time.monotonic() - began < minutes * 60:
        _, result = run_on(cluster, experiment, Options(results=results, seed=len(seen)))
        (arm,) = result.arms
        assert arm.judgement.verdict is VerdictWord.VALID, f"run {len(seen) + 1}: {arm.judgement.reasons}"
        assert arm.judgement.as_promised
        gc.collect()
        files = len(os.listdir("/proc/self/fd"))
        seen.append(((time.monotonic() - began) / 3600, resident_mib(), files))
        print(f"run {len(seen)}: {seen[-1][1]:.0f} MiB, {files} files open", flush=True)
    (first, memory, files), (last, memory_then, files_then) = seen[SETTLING], seen[-1]
    assert files_then <= files + MORE_FILES, seen
    assert memory_then <= memory + MORE_MIB + MORE_MIB_AN_HOUR * (last - first), seen
