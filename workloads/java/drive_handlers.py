"""Carries out the steps of producers that make their calls one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.run.steps.step_context import Handler, StepContext
from workloads.base import ArmProducers
from workloads.java.drive_step import Drive
from workloads.java.init_producer_id import InitProducerId
from workloads.java.producer_ids import initialise

if TYPE_CHECKING:
    from workloads.java.scripted_producers import PyScriptedProducers


def drive(run: StepContext, index: int, step: Drive) -> None:
    """Let the producer of every arm make its calls."""
    run.say(f"driving {step.by}")
    for arm in run.arms:
        run.problems += _driven(arm.producers).drive(index, step)


def init_producer_id(run: StepContext, _index: int, step: InitProducerId) -> None:
    """Initialise the transactional.id of the producer, in every arm."""
    run.say(str(step))
    for arm in run.arms:
        initialise(step, run.cluster, _driven(arm.producers).transactional_id_of(step.of), arm.answers)


def _driven(producers: ArmProducers) -> PyScriptedProducers:
    """The workload, whose producers make their calls one by one."""
    # Imported here because it loads py4j, which nothing else needs.
    from workloads.java.scripted_producers import PyScriptedProducers

    assert isinstance(producers, PyScriptedProducers), "checked when the experiment was made"
    return producers


HANDLERS: dict[type[Any], Handler] = {Drive: drive, InitProducerId: init_producer_id}
"""What carries out each of these steps."""
