"""Faults on the connections of brokers with their clients: which brokers, and when they answer again."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.shared.waiting import await_or_fail
from faults.shared.words import node_names
from faults.targets import Target
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError

_HEAL_SECONDS = 20.0


class BrokerClientFault(FaultSpec):
    """Base of faults on the connections of brokers with their clients. `why_brokers` is the message where the
    target matches no broker."""

    why_brokers: ClassVar[str]

    target: Target = Field(description="the brokers whose traffic with clients is affected")

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if not self.target.possible_nodes(shape) & set(shape.broker_ids):
            raise ValueError(f"target `{self.target}`: {self.why_brokers}")
        return ()

    def brokers(self, context: InjectionContext) -> tuple[int, ...]:
        """The brokers that the target means now.

        Raises:
            FaultError: the target matches no broker.
        """
        chosen = self.target.resolve(context.snapshot())
        brokers = tuple(node for node in chosen if node in context.cluster.broker_ids)
        if not brokers:
            raise FaultError(
                self.why_brokers,
                where=str(self.target),
                expected="a broker among the nodes",
                found=node_names(chosen),
                next_step="choose a target that means brokers",
            )
        return brokers


def await_answers(context: InjectionContext, injection: Injection, problem: str) -> Evidence:
    """Wait until the injection's brokers answer a client, those that are stopped or paused excepted.

    Raises:
        FaultError: `problem`, if one does not within 20 s.
    """

    def missing() -> str | None:
        up = {node for node in context.running(injection.nodes) if not context.cluster.is_paused(node)}
        silent = up - context.answering()
        return f"{node_names(silent)} does not answer" if silent else None

    next_step = "see the broker's log in the run folder"
    expected = "an answer to the client"
    await_or_fail(
        _HEAL_SECONDS, missing, problem, where=injection.target, expected=expected, next_step=next_step
    )
    return Evidence(True, f"no rule is left, and {injection.target} answers the client")
