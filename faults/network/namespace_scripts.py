"""What all network faults do: run scripts in the network namespaces of several nodes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from faults.base import CommandOutput, InjectionContext, node_name
from faults.network.rules import remove_script
from harness.model.errors import ClusterError, FaultError
from harness.model.node_layout import CLIENT

_VIEW_SECONDS = 0.4

T = TypeVar("T")


def address(context: InjectionContext, node: int) -> str:
    """Where packets of a node, or of the clients, come from on the cluster's network."""
    return context.cluster.client_address if node == CLIENT else context.cluster.address(node)


def running(context: InjectionContext, nodes: Iterable[int]) -> tuple[int, ...]:
    """Those of the nodes that run, and so have a network namespace; never the client."""
    wanted = sorted(set(nodes) - {CLIENT})
    return tuple(node for node in wanted if context.cluster.is_running(node))


def in_parallel(nodes: Iterable[int], act: Callable[[int], T]) -> dict[int, T]:
    """`act` on all nodes at once; the first error is raised when all are done."""
    wanted = tuple(nodes)
    with ThreadPoolExecutor(max_workers=len(wanted) or 1) as pool:
        futures = {node: pool.submit(act, node) for node in wanted}
    return {node: future.result() for node, future in futures.items()}


def insert_rules(context: InjectionContext, node: int, rules: str) -> str:
    """Run a script that inserts rules; returns what it printed.

    Raises:
        FaultError: it failed.
        ClusterError: it could not be run.
    """
    output = context.cluster.in_network(node, rules)
    if output.code != 0:
        raise FaultError(
            "the rules of a network fault could not be set",
            where=f"network namespace of {node_name(node)}",
            found=output.text.strip(),
            next_step="`kafka-chaos doctor` tells whether iptables works here",
        )
    return output.text


def remove_rules(context: InjectionContext, node: int) -> None:
    """Remove every rule of this injection from a node's namespace.

    Raises:
        FaultError: one is left.
        ClusterError: it could not be looked at, though the node runs.
    """
    output = run_script(context, node, remove_script(context.tag))
    if output is not None and output.code != 0:
        raise FaultError(
            "the rules of a network fault could not be removed",
            where=f"network namespace of {node_name(node)}",
            found=output.text.strip(),
            next_step="restart that node's container: its rules die with it",
        )


def query_until_done(context: InjectionContext, looks: Iterable[Future[CommandOutput | None]]) -> set[int]:
    """Ask the brokers over and over, as a client, while others look; returns who has answered."""
    waiting = tuple(looks)
    answered: set[int] = set()
    while True:
        view = context.cluster.view((context.topic,), timeout=_VIEW_SECONDS)
        answered |= {seen.broker for seen in view.answered()}
        if not wait(waiting, timeout=0.05).not_done:
            return answered


def run_script(context: InjectionContext, node: int, text: str) -> CommandOutput | None:
    """What a script in the node's namespace printed; None: the node has ended meanwhile."""
    try:
        return context.cluster.in_network(node, text)
    except ClusterError:
        if context.cluster.is_running(node):
            raise
        return None
