"""Checks before a run whether kernel and engine support every fault of an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docker import DockerClient

from harness.containers import images
from harness.model.errors import BadInput
from harness.preflight import kernel_probes
from harness.preflight.kernel_probes import Capability
from harness.spec.experiment import Experiment
from harness.spec.fault_index import located_faults, without_faults


def probe_for(client: DockerClient, experiments: Sequence[Experiment]) -> tuple[Capability, ...]:
    """Probe the capabilities of kernel and engine now; empty if no fault of the experiments needs any."""
    needed = any(one.fault.needs for experiment in experiments for one in located_faults(experiment))
    return kernel_probes.probe(client, images.toolbox(client)) if needed else ()


def without_impossible_faults(
    experiment: Experiment, found: Sequence[Capability]
) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment without the faults that are impossible here and may be skipped, and a sentence about
    each.

    Raises:
        BadInput: a fault is impossible and may not be skipped; names its path and what is missing.
    """
    reasons = [(one, "; ".join(unmet_needs(one.fault.needs, found))) for one in located_faults(experiment)]
    cannot = [(one, reason) for one, reason in reasons if reason]
    for one, reason in cannot:
        if one.if_impossible != "skip":
            raise BadInput(
                f"the fault {one.fault.name()!r} is not possible on this machine",
                where=f"{experiment.name}: {one.where}",
                expected=f"a kernel and an engine with {', '.join(one.fault.needs)}",
                found=reason,
                next_step="leave it out, or write `if_impossible: skip` beside it; "
                "`kafka-chaos faults` lists what is possible here",
            )
    if not cannot:
        return experiment, ()
    skipped = tuple(f"{one.where}: {one.fault.name()} was skipped ({reason})" for one, reason in cannot)
    return without_faults(experiment, {one.where for one, _ in cannot}), skipped


def unmet_needs(needs: Iterable[str], found: Sequence[kernel_probes.Capability]) -> list[str]:
    """The needs that are not met, each with the reason; what was not probed counts as met."""
    works = {one.name: one for one in found}
    return [f"{name}: {works[name].found}" for name in needs if name in works and works[name].works is False]
