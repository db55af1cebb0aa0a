"""An application under test beside a cluster: its run, its faults, and what is left of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.cluster.containers import docker_engine
from harness.cluster.managed import ManagedCluster
from harness.model.host.orphans import MARK
from harness.model.result import ArmResult
from harness.run.executor import Options, run_on
from harness.spec.experiment import Experiment


def run_application(
    cluster: ManagedCluster, results: Path, application: dict[str, Any], steps: list[Any], **more: Any
) -> ArmResult:
    """The only arm of an experiment with this application and these steps."""
    experiment = Experiment.model_validate(
        {
            "name": "application",
            "title": "an application",
            "application": application,
            "steps": steps,
            "arms": [{"name": "one"}],
            **more,
        }
    )
    _, result = run_on(cluster, experiment, Options(results=results, seed=1))
    return result.arms[0]


def left_of_applications(cluster: ManagedCluster) -> list[str]:
    """Processes and containers of applications beside the cluster."""
    wanted = f"{MARK}={cluster.name} ".encode()
    processes = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            processes += [path.parent.name] if wanted in path.read_bytes() else []
        except OSError:
            continue
    label = {"label": [f"{docker_engine.CLUSTER_LABEL}={cluster.name}", docker_engine.APPLICATION_LABEL]}
    return processes + [one.name for one in cluster.client.containers.list(all=True, filters=label)]


def verified_faults(arm: ArmResult) -> dict[str, bool]:
    """Whether each fault was shown to take effect, by its name."""
    return {window.name: window.verified for window in arm.meta.windows}
