"""What all network faults do: run scripts in the network namespaces of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from faults.shared.fault_cluster import CommandOutput
from faults.shared.fault_spec import InjectionContext, node_name
from faults.shared.waiting import in_parallel
from harness.model.errors import ClusterError, FaultError
from harness.model.node_layout import CLIENT

_VIEW_SECONDS = 0.4


def address(context: InjectionContext, node: int) -> str:
    """Where packets of a node, or of the clients, come from on the cluster's network."""
    return context.cluster.client_address if node == CLIENT else context.cluster.address(node)


def run_script(context: InjectionContext, node: int, text: str) -> CommandOutput | None:
    """What a script in the node's namespace printed; None: the node ended before or meanwhile."""
    try:
        return context.cluster.in_network(node, text)
    except ClusterError:
        if context.cluster.is_running(node):
            raise
        return None


def run_scripts(context: InjectionContext, nodes: Iterable[int], text: str) -> dict[int, str]:
    """What a script printed in the namespaces of all running nodes; those that have ended are left out."""
    outputs = in_parallel(context.running(nodes), lambda node: run_script(context, node, text))
    return {node: output.text for node, output in outputs.items() if output}


def refuse_failure(output: CommandOutput, node: int, problem: str, next_step: str) -> str:
    """What the script printed.

    Raises:
        FaultError: its exit code is not 0.
    """
    if output.code != 0:
        raise FaultError(
            problem,
            where=f"network namespace of {node_name(node)}",
            found=output.text.strip(),
            next_step=next_step,
        )
    return output.text


def probe_and_query(
    context: InjectionContext, nodes: Iterable[int], script: Callable[[int], str], *, query: bool
) -> tuple[dict[int, str], set[int]]:
    """Run a script in the namespaces of all running nodes at once and, if `query`, send requests to the
    brokers as a client until all have ended. Returns what the scripts printed, without the nodes that have
    ended, and the brokers that answered."""
    up = context.running(nodes)
    with ThreadPoolExecutor(max_workers=len(up) or 1) as pool:
        probes = {node: pool.submit(run_script, context, node, script(node)) for node in up}
        answered = _query_until_done(context, tuple(probes.values())) if query else set()
    outputs = {node: probe.result() for node, probe in probes.items()}
    return {node: output.text for node, output in outputs.items() if output is not None}, answered


def _query_until_done(
    context: InjectionContext, probes: tuple[Future[CommandOutput | None], ...]
) -> set[int]:
    answered: set[int] = set()
    while True:
        view = context.cluster.view((context.topic,), timeout=_VIEW_SECONDS)
        answered |= {seen.broker for seen in view.answered()}
        if not wait(probes, timeout=0.05).not_done:
            return answered
