"""What faults wait for, such as nodes that are back, and acting on several nodes at once."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import ClassVar, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from faults.shared.fault_spec import Evidence, Injection, InjectionContext
from faults.shared.words import node_names
from harness.model.broker_views import TopologyView
from harness.model.errors import ClusterError, FaultError, KafkaChaosError
from harness.model.node_layout import is_application
from harness.model.polling import poll_within

T = TypeVar("T")
REJOIN_SECONDS = 90.0
ANSWER_SECONDS = 30.0
"""For a broker to answer at all: while every node is restarted, or the controller, none may for a while."""
_INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Topics that the brokers need for groups and transactions; a broker answers for those that exist."""


class MeasuredInjection(Injection):
    """An injection whose effect is measured until it is seen, for at most `proof_seconds`, with a pause of
    `proof_pause` seconds after each measurement."""

    proof_seconds: ClassVar[float] = 6.0
    proof_pause: ClassVar[float] = 0.0

    def verify(self, context: InjectionContext) -> Evidence:
        deadline = time.monotonic() + self.proof_seconds
        while True:
            # A busy machine may spoil one measurement.
            evidence = self.measure(context)
            if evidence.seen or time.monotonic() > deadline:
                return evidence
            time.sleep(self.proof_pause)

    @abstractmethod
    def measure(self, context: InjectionContext) -> Evidence:
        """Measure once."""


def until_answered(ask: Callable[[], T]) -> T:
    """The answer of the first broker that gives one; the request is repeated meanwhile. It must be one that
    may be done twice, since its answer may have been lost.

    Raises:
        ClusterError: none has answered for 30 s.
    """
    until, silent = stop_after_delay(ANSWER_SECONDS), retry_if_exception_type(ClusterError)
    return Retrying(stop=until, wait=wait_fixed(0.5), retry=silent, reraise=True)(ask)


def unless_ended(context: InjectionContext, node: int, work: Callable[[], T]) -> T | None:
    """What `work` on a running node returns; None: it failed, and the node does not run any more.

    Raises:
        FaultError, ClusterError: it failed, and the node runs.
    """
    try:
        return work()
    except KafkaChaosError:
        if context.cluster.is_running(node):
            raise
        return None


def await_or_fail(
    seconds: float,
    missing: Callable[[], str | None],
    problem: str,
    *,
    where: str,
    expected: str | None = None,
    next_step: str | None = None,
    every: float = 0.1,
) -> None:
    """Call `missing` until it returns None; any text it returns says what is still missing.

    Raises:
        FaultError: `problem`, when `seconds` have passed; it adds the time limit to `expected`.
    """
    left = poll_within(seconds, missing, every)
    if left is not None:
        limit = f"{expected} within {seconds:g} s" if expected else None
        raise FaultError(problem, where=where, expected=limit, found=left, next_step=next_step)


def in_parallel(nodes: Iterable[int], act: Callable[[int], T]) -> dict[int, T]:
    """`act` on all nodes at once; the first error is raised when all are done."""
    wanted = tuple(nodes)
    with ThreadPoolExecutor(max_workers=len(wanted) or 1) as pool:
        futures = {node: pool.submit(act, node) for node in wanted}
    return {node: future.result() for node, future in futures.items()}


def partition_numbers(view: TopologyView) -> list[int]:
    """The numbers of all partitions that the answering brokers report, ascending."""
    return sorted({state.partition for broker in view.answered() for state in broker.partitions})


def describe_unsettled(context: InjectionContext, nodes: tuple[int, ...]) -> str | None:
    """What keeps the cluster from being whole, in words; None: these nodes run, every broker answers, is
    registered and is in the ISR of every partition that it holds, and the controllers agree."""
    cluster = context.cluster
    stopped = [node for node in nodes if not cluster.is_running(node)]
    if stopped:
        return f"the process of {node_names(stopped)} does not run"
    view = cluster.view((*context.topics, *_INTERNAL))
    silent = [seen.broker for seen in view.views if not seen.answered]
    if silent:
        return f"broker {', '.join(map(str, silent))} does not answer"
    for seen in view.views:
        unregistered = set(cluster.broker_ids) - set(seen.brokers)
        if unregistered:
            return f"broker {sorted(unregistered)} is not registered, says broker {seen.broker}"
        for state in seen.partitions:
            out = set(state.replicas) - set(state.isr)
            if out:
                return f"broker {sorted(out)} is not in the ISR of {state.topic}-{state.partition}"
    if cluster.controller() is None:
        return "there is no active controller"
    controllers = set(nodes) & set(cluster.controller_ids) if not cluster.zookeeper_ids else ()
    lagging = cluster.lagging_voters() if controllers else ()
    return f"the metadata log of {node_names(lagging)} lags" if lagging else None


def await_rejoined(context: InjectionContext, nodes: tuple[int, ...]) -> None:
    """Wait until the brokers answer and are in the ISR of every partition that they hold of the context's
    topics, and the controllers run and one is active.

    Raises:
        FaultError: not within 90 s.
    """

    cluster = context.cluster
    brokers = tuple(node for node in nodes if node in cluster.broker_ids)
    controllers = tuple(node for node in nodes if node in cluster.controller_ids)
    # An application ends with its run, which may be over: then nothing has to come back.
    nodes = tuple(node for node in nodes if not is_application(node) or node in cluster.application_ids)

    def missing() -> str | None:
        stopped = [node for node in nodes if not cluster.is_running(node)]
        if stopped:
            return f"the process of {node_names(stopped)} does not run"
        if controllers and cluster.controller() is None:
            return "there is no active controller yet"
        view = cluster.view(context.topics) if brokers else None
        if view is None:
            return None
        silent = [seen.broker for seen in view.views if not seen.answered and seen.broker in brokers]
        if silent:
            return f"broker {silent} does not answer yet"
        for topic, number in product(context.topics, partition_numbers(view)):
            state = view.partition(topic, number)
            out = set(brokers) & set(state.replicas) - set(state.isr) if state else set()
            if out:
                return f"broker {sorted(out)} is not in the ISR of {topic}-{number} yet"
        return None

    await_or_fail(
        REJOIN_SECONDS,
        missing,
        "a node did not come back",
        where=node_names(nodes),
        expected="running, and in every ISR,",
        next_step="see the broker's log in the run folder",
    )
