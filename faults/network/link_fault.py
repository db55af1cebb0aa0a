"""What all faults on the quality of links share: which links, and how a round trip over them is measured."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Collection
from typing import Any, ClassVar

from pydantic import Field

from faults.base import Evidence, FaultSpec, Injection, InjectionContext, node_name, node_names
from faults.leadership import await_rejoined
from faults.network.link_probe import Echoes, parse_pings, ping_script
from faults.network.links import Link, between, minor_of, shape_script, unshape_script
from faults.network.namespace_scripts import address, in_parallel, run_script, running
from faults.network.sides import possible_nodes, surely_within
from faults.target_context import ClusterShape
from faults.targets import Target
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT

_PROOF_SECONDS = 8.0
_DEAF = "the client's machine answers no ICMP echoes"


class OnLinks(Injection):
    """An injection on links."""

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
        up = [node for node in running(context, self.nodes) if not context.cluster.is_paused(node)]
        await_rejoined(context, tuple(up))
        return Evidence(True, "nothing of it is left in any namespace, and all are back in the ISR")

    def verify(self, context: InjectionContext) -> Evidence:
        # A busy machine may spoil one measurement.
        deadline = time.monotonic() + _PROOF_SECONDS
        while True:
            evidence = self.look(context)
            if evidence.seen or time.monotonic() > deadline:
                return evidence

    @abstractmethod
    def look(self, context: InjectionContext) -> Evidence:
        """Measure once."""

    def trips(self, context: InjectionContext) -> dict[int, list[Link]]:
        """Round trips that go over each link once at least, as links from the node that they are measured
        from: one of those that run."""
        up = running(context, self.nodes)
        found: set[Link] = set()
        for link in self.links:
            trip = link if link.sender in up else link.back
            if trip.sender in up and trip.receiver in (CLIENT, *up) and trip.back not in found:
                found.add(trip)
        return {node: sorted(trip for trip in found if trip.sender == node) for node in up}

    def ping(self, context: InjectionContext, **how: Any) -> dict[Link, Echoes] | str:
        """Measure all round trips (`how`: see `ping_script`); text: why that could not be done."""
        return ping(context, self.trips(context), **how)

    def judged(
        self,
        context: InjectionContext,
        measured: dict[Link, Echoes] | str,
        say: Callable[[Link, Echoes], tuple[bool, str]],
    ) -> Evidence:
        """Evidence from round trips: `say` tells of each whether it shows what was asked, and what was
        measured."""
        if isinstance(measured, str):
            return Evidence(False, measured)
        # A client's machine may answer no echoes at all, which no fault of this kind does.
        deaf = {link for link, echoes in measured.items() if link.receiver == CLIENT and not echoes.answers}
        judged = {link: say(link, measured[link]) for link in measured if link not in deaf}
        facts: dict[str, object] = {describe_link(link): what for link, (_, what) in judged.items()}
        if deaf:
            facts["not_measured"] = _DEAF
        silent = set(self.nodes) - {CLIENT} - set(running(context, self.nodes))
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
        in_parallel(running(context, self.senders), lambda node: self._shape(context, node))

    def undo(self, context: InjectionContext) -> None:
        # A namespace dies with its container, and its disciplines with it.
        for node, output in in_parallel(
            running(context, self.senders), lambda node: run_script(context, node, unshape_script(self.minor))
        ).items():
            if output is not None and output.code != 0:
                raise FaultError(
                    "the queueing discipline of a network fault could not be removed",
                    where=f"network namespace of {node_name(node)}",
                    found=output.text.strip(),
                    next_step="restart that node's container: its disciplines die with it",
                )

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
                expected="links that no other open fault shapes, and a kernel that can",
                found=output.text.strip(),
                next_step="let one of the faults end first, or give them different peers in `to`; "
                "`kafka-chaos doctor` tells what this kernel can do",
            )
        return output.text


class LinkFault(FaultSpec):
    """Base of faults on the links from a target to its peers."""

    needs: ClassVar[tuple[str, ...]] = ("tc htb", "tc netem", "raw sockets")
    target: Target = Field(description="the nodes whose outgoing packets are touched")
    to: Target | None = Field(
        default=None,
        description="the nodes that these packets go to; default: every other node of the cluster, "
        "controllers among them, and the client",
    )

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if self.target.may_include_client():
            raise ValueError(
                f"target `{self.target}`: the client has no network of its own that could be touched; "
                "name the brokers as `target` and the client as `to`"
            )
        nodes = possible_nodes(self.target, shape)
        alone = len(nodes) == 1 or (nodes <= set(shape.broker_ids) and self.target.max_brokers(shape) == 1)
        if self.to is not None and alone and surely_within(self.to, self.target, shape):
            raise ValueError(f"`to: {self.to}` means no other node than `target: {self.target}`")
        return ()

    def chosen(self, context: InjectionContext) -> tuple[Link, ...]:
        """The links that this means now.

        Raises:
            FaultError: a target matches nothing, or there is no link.
        """
        snapshot = context.snapshot()
        senders = [node for node in self.target.resolve(snapshot) if node != CLIENT]
        everybody = (CLIENT, *snapshot.brokers, *snapshot.controllers)
        receivers = everybody if self.to is None else self.to.resolve(snapshot)
        links = between(senders, receivers)
        if not links:
            raise FaultError(
                "there is no link to touch",
                where=f"from {self.target} to {self.to}",
                expected="at least two different nodes",
                found=f"both mean {node_names(receivers)}",
                next_step="choose targets that differ",
            )
        return links


def describe_link(link: Link) -> str:
    """A round trip in words."""
    return f"{node_name(link.sender)} and {node_name(link.receiver)}"


def shaping_fields(context: InjectionContext, links: Collection[Link]) -> dict[str, Any]:
    """The fields of a `Shaped`."""
    return {"links": tuple(links), "minor": minor_of(context.tag)}


def ping(context: InjectionContext, trips: dict[int, list[Link]], **how: Any) -> dict[Link, Echoes] | str:
    """Measure round trips, given by the node that they are measured from (`how`: see `ping_script`); text:
    why that could not be done."""
    if not any(trips.values()):
        return "none of the links has both its ends running"

    def measure(node: int) -> dict[Link, Echoes] | str:
        at = {address(context, link.receiver): link for link in trips[node]}
        output = run_script(context, node, ping_script(list(at), **how))
        found = None if output is None else parse_pings(output.text, list(at))
        if found is None:
            why = output.text.strip() if output else "it ended meanwhile"
            return f"{node_name(node)}: could not measure: {why}"
        return {at[place]: echoes for place, echoes in found.items()}

    measured: dict[Link, Echoes] = {}
    for found in in_parallel((node for node in trips if trips[node]), measure).values():
        if isinstance(found, str):
            return found
        measured |= found
    return measured
