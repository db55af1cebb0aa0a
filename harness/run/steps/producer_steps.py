"""Carries out the steps of producers that make their calls one by one, and of rivals of a producer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.run.steps.producer_ids import initialise
from harness.run.steps.step_context import Handler, StepContext
from harness.spec.drive_step import Drive
from harness.spec.producer_ids import InitProducerId
from harness.spec.rival import Rival
from workloads.base import ArmProducers
from workloads.producer.producers import Workload

if TYPE_CHECKING:
    from harness.java.scripted_workload import PyScriptedWorkload


def drive(run: StepContext, index: int, step: Drive) -> None:
    """Let the producer of every arm make its calls."""
    run.say(f"driving {step.by}")
    for arm in run.arms:
        run.problems += _driven(arm.workload).drive(index, step)


def init_producer_id(run: StepContext, _index: int, step: InitProducerId) -> None:
    """Initialise the transactional.id of the producer, in every arm."""
    run.say(str(step))
    for arm in run.arms:
        initialise(step, run.cluster, _driven(arm.workload).transactional_id_of(step.of), arm.answers)


def rival(run: StepContext, index: int, step: Rival) -> None:
    """Let a rival of the producer begin, in every arm."""
    run.say(f"a rival of producer {step.of} begins")
    for arm in run.arms:
        if isinstance(arm.workload, Workload):
            same_id = step.transactional_id == "same"
            arm.workload.begin_rival(index, of=step.of, records=step.records, same_id=same_id)
        else:
            run.problems += _driven(arm.workload).rival(index, step)
    run.await_reports(run.delivery_seconds)


def _driven(workload: ArmProducers) -> PyScriptedWorkload:
    """The workload, whose producers make their calls one by one."""
    # Imported here because it loads py4j, which nothing else needs.
    from harness.java.scripted_workload import PyScriptedWorkload

    assert isinstance(workload, PyScriptedWorkload), "checked when the experiment was made"
    return workload


HANDLERS: dict[type[Any], Handler] = {Drive: drive, InitProducerId: init_producer_id, Rival: rival}
"""What carries out each of these steps."""
