"""Carries out the steps of an experiment on a live cluster, one after the other."""

from __future__ import annotations

import time

from harness.model.run import StepInfo
from harness.run.steps.step_context import StepContext
from harness.run.steps.step_handlers import HANDLERS
from harness.spec.step import KIND, name_of


def carry_out_steps(run: StepContext) -> None:
    """Carry out every step.

    Raises:
        ClusterError: a wait step timed out.
        FaultError: a fault could not be injected.
    """
    with run.requests:
        for index, step in enumerate(run.experiment.steps):
            action = step.action
            kind = KIND[type(action)]
            run.begin(
                StepInfo(index=index, name=name_of(action, index), kind=kind, started_ns=time.time_ns())
            )
            try:
                HANDLERS[type(action)](run, index, action)
            finally:
                run.end()
