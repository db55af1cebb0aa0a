"""Partition: two sets of brokers do not hear each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import ConfigDict, Field

from faults.base import Evidence, FaultSpec, Injection, Scene
from faults.rules import Cut, insert_script, probe_script, remove_script, symmetric
from faults.targets import Target
from harness.model.errors import FaultError

_PACKETS = re.compile(r"^\s*(\d+)\s+\d+\s+DROP", re.MULTILINE)


class Partition(FaultSpec):
    """Drop every packet between two sets of brokers; clients and controllers still reach both.

    What Kafka does: the followers' fetches get no answer, so the leader's high watermark stands still;
    after replica.lag.time.max.ms the leader asks the controller to take them out of the ISR. Until then
    acks=1 writes are acknowledged by the leader alone and acks=all writes wait.

    Proof: the packet counters of the rules rise, and a connection across the cut fails.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    kind: Literal["partition"] = "partition"
    side: Target = Field(alias="from", description="one side; the rules live in these brokers' namespaces")
    other: Target = Field(alias="to", description="the other side")

    def inject(self, scene: Scene) -> Injection:
        view = scene.cluster.view((scene.topic,))
        here = self.side.resolve(view, scene.topic)
        there = tuple(b for b in self.other.resolve(view, scene.topic) if b not in here)
        if not there:
            raise FaultError(
                "a partition needs two sides",
                where=f"from {self.side!r} to {self.other!r}",
                expected="brokers on both sides",
                found=f"both mean broker {', '.join(map(str, here))}",
                next_step="choose two targets that differ",
            )
        cut = _Cut(scene, here, there)
        cut.apply()
        return cut


@dataclass(frozen=True)
class _Cut:
    scene: Scene
    here: tuple[int, ...]
    there: tuple[int, ...]

    @property
    def target(self) -> str:
        sides = (", ".join(map(str, side)) for side in (self.here, self.there))
        return " | ".join(f"broker {side}" for side in sides)

    def apply(self) -> None:
        cuts = symmetric(self.here, self.there)
        for broker in self.here:
            script = insert_script(self._peers(cuts, broker), self.scene.tag)
            output = self.scene.cluster.in_network(broker, script)
            if output.code != 0:
                raise FaultError(
                    "the rules of a partition could not be set",
                    where=f"network namespace of broker {broker}",
                    found=output.text.strip(),
                    next_step="`kafka-chaos doctor` tells whether iptables works here",
                )

    def verify(self) -> Evidence:
        facts: dict[str, object] = {}
        addresses = [self.scene.cluster.address(broker) for broker in self.there]
        for broker in self.here:
            output = self.scene.cluster.in_network(broker, probe_script(addresses, self.scene.tag))
            packets = [int(count) for count in _PACKETS.findall(output.text)]
            reached = re.findall(r"^reached (\S+)$", output.text, re.MULTILINE)
            facts[f"broker {broker}"] = {"packets_dropped": sum(packets), "reached": reached}
            if reached or not sum(packets):
                why = f"it still reaches {', '.join(reached)}" if reached else "no packet was dropped"
                return Evidence(False, f"broker {broker} is not cut: {why}", facts)
        return Evidence(True, "packets are dropped, and no connection crosses the cut", facts)

    def heal(self) -> str:
        # A namespace dies with its container, and its rules with it.
        running = [broker for broker in self.here if self.scene.cluster.is_running(broker)]
        for broker in running:
            output = self.scene.cluster.in_network(broker, remove_script(self.scene.tag))
            if output.code != 0:
                raise FaultError(
                    "the rules of a partition could not be removed",
                    where=f"network namespace of broker {broker}",
                    found=output.text.strip(),
                    next_step="restart that broker's container: its rules die with it",
                )
        return f"no rule of {self.scene.tag} is left"

    def _peers(self, cuts: frozenset[Cut], broker: int) -> list[tuple[str, str]]:
        """(chain, address) of every rule for one broker's namespace."""
        peers = []
        for cut in sorted(cuts, key=lambda cut: (cut.sender, cut.receiver)):
            if cut.receiver == broker:
                peers.append(("INPUT", self.scene.cluster.address(cut.sender)))
            elif cut.sender == broker:
                peers.append(("OUTPUT", self.scene.cluster.address(cut.receiver)))
        return peers
