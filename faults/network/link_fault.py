"""What all faults on the quality of links share: which links they affect, and measuring round trips."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from pydantic import Field

from faults.network.link_probe import Echoes, parse_pings, ping_script
from faults.network.links import Link, between, minor_of, shape_script, unshape_script
from faults.network.namespaces import address, run_script, run_undoing
from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.shared.waiting import MeasuredInjection, await_rejoined, in_parallel
from faults.shared.words import node_name, node_names
from faults.targets import Target, surely_within
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT

_DEAF = "the client's machine answers no ICMP echoes"


class OnLinks(MeasuredInjection):
    """An injection on links."""

    proof_seconds = 8.0
    links: tuple[Link, ...]

    @property
    def senders(self) -> tuple[int, ...]:
        return tuple(sorted({link.sender for link in self.links}))

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({node for link in self.links for node in link}))

    @property
    def target(self) -> str:
        return f"{node_names(self.senders)} to {node_names({link.receiver for link in self.links})}"

    def healed(self, context: InjectionContext) -> Evidence:
        up = [node for node in context.running(self.nodes) if not context.cluster.is_paused(node)]
        await_rejoined(context, tuple(up))
        return Evidence(True, "no trace of it is left in any namespace, and all nodes are back in the ISR")

    def trips(self, context: InjectionContext) -> dict[int, list[Link]]:
        """Round trips that together go over each link at least once, by the running node that measures."""
        up = context.running(self.nodes)
        trips: set[Link] = set()
        for link in self.links:
            trip = link if link.sender in up else link.back
            if trip.sender in up and trip.receiver in (CLIENT, *up) and trip.back not in trips:
                trips.add(trip)
        return {node: sorted(trip for trip in trips if trip.sender == node) for node in up}

    def ping_and_judge(
        self, context: InjectionContext, judge: Callable[[Link, Echoes], tuple[bool, str]], **how: Any
    ) -> Evidence:
        """Measure all round trips (`how`: see `ping_script`). `judge` says of each whether it shows the
        effect, and what was measured."""
        measured = ping(context, self.trips(context), **how)
        if isinstance(measured, str):
            return Evidence(False, measured)
        # A client's machine may answer no echoes at all, which no fault of this kind causes.
        deaf = {link for link, echoes in measured.items() if link.receiver == CLIENT and not echoes.answers}
        judged = {link: judge(link, measured[link]) for link in measured if link not in deaf}
        facts: dict[str, object] = {describe_link(link): what for link, (_, what) in judged.items()}
        if deaf:
            facts["not_measured"] = _DEAF
        silent = set(self.nodes) - {CLIENT} - set(context.running(self.nodes))
        if silent:
            facts["not_running"] = sorted(silent)
        wrong = [f"{describe_link(link)}: {what}" for link, (good, what) in judged.items() if not good]
        if wrong or not judged:
            return Evidence(False, "; ".join(wrong[:3]) or _DEAF, facts)
        shown = [f"{describe_link(link)}: {what}" for link, (_, what) in judged.items()]
        more = f"; and {len(shown) - 3} more round trips" if len(shown) > 3 else ""
        return Evidence(True, "; ".join(shown[:3]) + more, facts)


class Shaped(OnLinks):
    """Packets of these links go through a class of the sender's queueing discipline (`faults.network.links`)
    whose number is `minor`."""

    minor: int

    @abstractmethod
    def discipline(self) -> tuple[str, str]:
        """The class's rate, and the discipline in its leaf, as tc takes them."""

    def apply(self, context: InjectionContext) -> None:
        in_parallel(context.running(self.senders), lambda node: self._shape(context, node))

    def undo(self, context: InjectionContext) -> None:
        # A namespace dies with its container, and its disciplines with it.
        problem = "the queueing discipline of a network fault could not be removed"
        next_step = "restart that node's container: its disciplines die with it"
        run_undoing(context, self.senders, unshape_script(self.minor), problem, next_step)

    def restarted(self, context: InjectionContext, node: int) -> bool:
        return node in self.senders and "put" in self._shape(context, node).split()

    def _shape(self, context: InjectionContext, node: int) -> str:
        rate, leaf = self.discipline()
        peers = [address(context, link.receiver) for link in self.links if link.sender == node]
        output = context.cluster.in_network(node, shape_script(self.minor, rate, leaf, peers))
        if output.code != 0:
            raise FaultError(
                "a link could not be shaped",
                where=f"network namespace of {node_name(node)}",
                expected="links that no other open fault shapes, and a kernel that supports it",
                found=output.text.strip(),
                next_step="let one of the faults end first, or give them different peers in `to`; "
                "`kafka-chaos doctor` shows what this kernel supports",
            )
        return output.text


class LinkFault(FaultSpec):
    """Base of faults on the links from a target to its peers: by default of those that shape packets."""

    needs = ("tc htb", "tc netem", "raw sockets")
    target: Target = Field(description="the nodes whose outgoing packets are affected")
    to: Target | None = Field(
        default=None,
        description="the nodes that these packets go to; default: every other node of the cluster, "
        "including controllers, and the client",
    )

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if self.target.may_include_client():
            raise ValueError(
                f"target `{self.target}`: the client has no network of its own that could be affected; "
                "name the brokers as `target` and the client as `to`"
            )
        nodes = self.target.possible_nodes(shape)
        alone = len(nodes) == 1 or (nodes <= set(shape.broker_ids) and self.target.max_brokers(shape) == 1)
        if self.to is not None and alone and surely_within(self.to, self.target, shape):
            raise ValueError(f"`to: {self.to}` means no other node than `target: {self.target}`")
        return ()

    def aim(self, context: InjectionContext) -> Injection:
        links = self.chosen(context)
        fields: dict[str, Any] = {"links": links, "minor": minor_of(context.tag)}
        return self.injection(**fields, **self.parameters())

    def chosen(self, context: InjectionContext) -> tuple[Link, ...]:
        """The links that this means now.

        Raises:
            FaultError: a target matches nothing, or there is no link.
        """
        snapshot = context.snapshot()
        senders = [node for node in self.target.resolve(snapshot) if node != CLIENT]
        every_node = (CLIENT, *snapshot.cluster.broker_ids, *snapshot.cluster.controller_ids)
        receivers = every_node if self.to is None else self.to.resolve(snapshot)
        links = between(senders, receivers)
        if not links:
            raise FaultError(
                "there is no link between the targets",
                where=f"from {self.target} to {self.to}",
                expected="at least two different nodes",
                found=f"both mean {node_names(receivers)}",
                next_step="choose targets that differ",
            )
        return links


def describe_link(link: Link) -> str:
    """A round trip in words: "broker 1 and broker 2"."""
    return f"{node_name(link.sender)} and {node_name(link.receiver)}"


def ping(context: InjectionContext, trips: dict[int, list[Link]], **how: Any) -> dict[Link, Echoes] | str:
    """Measure round trips, given by the node that measures them (`how`: see `ping_script`). A text says why
    that was not possible."""
    if not any(trips.values()):
        return "no link has both of its ends running"

    def measure(node: int) -> dict[Link, Echoes] | str:
        by_address = {address(context, link.receiver): link for link in trips[node]}
        output = run_script(context, node, ping_script(list(by_address), **how))
        parsed = None if output is None else parse_pings(output.text, list(by_address))
        if parsed is None:
            why = output.text.strip() if output else "it ended meanwhile"
            return f"{node_name(node)}: could not measure: {why}"
        return {by_address[index]: echoes for index, echoes in parsed.items()}

    measured: dict[Link, Echoes] = {}
    for outcome in in_parallel((node for node in trips if trips[node]), measure).values():
        if isinstance(outcome, str):
            return outcome
        measured |= outcome
    return measured
