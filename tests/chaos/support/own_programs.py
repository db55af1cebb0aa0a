"""Runs programs with producers of their own, one for each arm of an experiment, in processes of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult
from harness.pytest_plugin.background_run import Running
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import parse
from tests.support.paths import ROOT

UNEXPECTED = {FindingClass.PHANTOM, FindingClass.CORRUPT, FindingClass.MISPLACED}
"""Findings that would be mistakes of a journal or of a header."""


@dataclass(frozen=True)
class OwnProgram:
    """A command, the folder in which it is started, and variables of its own."""

    command: tuple[str, ...]
    folder: Path = ROOT
    environment: Mapping[str, str] = field(default_factory=dict)


def run_programs(
    cluster: ManagedCluster, experiment: str, programs: Mapping[str, OwnProgram], results: Path
) -> dict[str, ArmResult]:
    """The results of the arms, by name. Each program must end by itself, each arm as it promised, and no arm
    has a finding that a wrong journal would make."""
    results.mkdir(parents=True, exist_ok=True)
    processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(arm: str, topic: str) -> None:
        background = Running(cluster.bootstrap, results)
        background.topic_created(arm, topic)
        program = programs[arm]
        environment = {
            **os.environ,
            **background.environment,
            "PYTHONPATH": str(ROOT),
            **program.environment,
        }
        with (results / f"{arm}.txt").open("w") as said:
            processes[arm] = subprocess.Popen(
                program.command, cwd=program.folder, env=environment, stdout=said, stderr=said
            )

    _, result = run_on(cluster, parse(experiment, "own"), Options(results=results, seed=5, started=start))
    for arm_name, process in processes.items():
        assert process.wait(120) == 0, (results / f"{arm_name}.txt").read_text()[-3000:]
    for arm in result.arms:
        assert arm.judgement.as_promised, (arm.meta.arm, arm.judgement, arm.meta.problems)
        assert arm.summary is not None
        assert not UNEXPECTED & arm.summary.findings.keys()
    return {arm.meta.arm: arm for arm in result.arms}
