"""Carries out the step in which a rival of a producer begins."""

from __future__ import annotations

from typing import Any, Protocol, cast

from harness.run.steps.step_context import Handler, StepContext
from workloads.records.producer.orders import RivalOrder
from workloads.transactions.rival import Rival


class HasRivals(Protocol):
    """Transactional producers, of which one may get a rival."""

    def begin_rival(self, step: int, rival: RivalOrder) -> list[str]:
        """Let it begin; returns problems."""


def rival(run: StepContext, index: int, step: Rival) -> None:
    """Let a rival of the producer begin, in every arm."""
    run.say(f"a rival of producer {step.of} begins")
    order = RivalOrder(step.name, step.of, step.records, step.transactional_id == "same")
    for arm in run.arms:
        # Which producers these are was checked when the experiment was made.
        run.problems += cast(HasRivals, arm.producers).begin_rival(index, order)
    run.await_reports(run.delivery_seconds)


HANDLERS: dict[type[Any], Handler] = {Rival: rival}
"""What carries out the step."""
