"""Runs of programs of a user's own, each a process that a test starts when the topic of its arm is there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult
from harness.pytest_plugin.background_run import Running
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import parse
from tests.support.paths import ROOT


def run_programs(
    cluster: ManagedCluster, experiment: str, programs: Mapping[str, tuple[str, str]], results: Path
) -> dict[str, ArmResult]:
    """Run an experiment (YAML) with `client: own`; returns the results by arm. Every program must end well.

    Args:
        programs: by arm, the text of a program in Python and its settings as JSON, which it finds in the
            variable `SETTINGS`.
    """
    results.mkdir(parents=True, exist_ok=True)
    processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(arm: str, topic: str) -> None:
        background = Running(cluster.bootstrap, results)
        background.topic_created(arm, topic)
        script, settings = programs[arm]
        own = {**background.environment, "PYTHONPATH": str(ROOT), "SETTINGS": settings}
        with (results / f"{arm}.txt").open("w") as said:
            processes[arm] = subprocess.Popen(
                [sys.executable, "-c", script], env={**os.environ, **own}, stderr=said
            )

    _, result = run_on(cluster, parse(experiment, "own"), Options(results=results, seed=5, started=start))
    for arm_name, process in processes.items():
        assert process.wait(120) == 0, (results / f"{arm_name}.txt").read_text()[-3000:]
    for arm in result.arms:
        assert arm.summary is not None
        unexpected = {FindingClass.PHANTOM, FindingClass.CORRUPT, FindingClass.MISPLACED}
        assert not unexpected & arm.summary.findings.keys()
    return {arm.meta.arm: arm for arm in result.arms}
