"""Kill: SIGKILL to a broker's process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from faults.base import Evidence, FaultSpec, Injection, Scene
from faults.targets import Target
from harness.model.errors import FaultError
from harness.model.topology import TopologyView
from harness.model.waiting import seen_within

_MARGIN_SECONDS = 30.0
_REJOIN_SECONDS = 90.0


class Kill(FaultSpec):
    """SIGKILL to every broker of the target; healed by starting it again.

    What Kafka does: the controller fences a broker that has sent no heartbeat for
    broker.session.timeout.ms, elects a new leader from the ISR for each partition that it led, and takes
    it out of the ISR of all others (KIP-500, KIP-631). Nothing unsynced is lost: the page cache survives
    the process.

    Proof: the process is gone, and every partition that the broker led has another leader or none.
    """

    kind: Literal["kill"] = "kill"
    target: Target = Field(description="which brokers")

    def inject(self, scene: Scene) -> Injection:
        view = scene.cluster.view((scene.topic,))
        brokers = self.target.resolve(view, scene.topic)
        led = tuple(
            (state.partition, state.leader)
            for number in sorted({s.partition for seen in view.answered() for s in seen.partitions})
            if (state := view.partition(scene.topic, number)) is not None and state.leader in brokers
        )
        for broker in brokers:
            scene.cluster.kill(broker)
        return _Killed(scene, brokers, led)


@dataclass(frozen=True)
class _Killed:
    scene: Scene
    brokers: tuple[int, ...]
    led: tuple[tuple[int, int], ...]

    @property
    def target(self) -> str:
        return "broker " + ", ".join(map(str, self.brokers))

    def verify(self) -> Evidence:
        cluster = self.scene.cluster

        def missing() -> str | None:
            running = [broker for broker in self.brokers if cluster.is_running(broker)]
            if running:
                return f"the process of broker {running} still runs"
            view = cluster.view((self.scene.topic,))
            if not view.answered():
                return None  # nobody left to elect: everything is offline
            for partition, old in self.led:
                state = view.partition(self.scene.topic, partition)
                if state is None or state.leader == old:
                    return f"partition {partition} is still led by broker {old}"
            return None

        left = seen_within(self.scene.session_seconds + _MARGIN_SECONDS, missing)
        if left is not None:
            return Evidence(False, left)
        view = cluster.view((self.scene.topic,))
        now = {part: _leader(view, self.scene.topic, part) for part, _ in self.led}
        codes = {broker: cluster.exit_code(broker) for broker in self.brokers}
        moved = ", ".join(f"partition {part} from {old} to {now[part]}" for part, old in self.led)
        return Evidence(
            True,
            f"process gone; leadership moved: {moved}" if moved else "process gone; it led nothing",
            {"exit_codes": codes, "led": dict(self.led), "leaders_now": now},
        )

    def heal(self) -> str:
        cluster = self.scene.cluster
        for broker in self.brokers:
            cluster.start_node(broker)

        def missing() -> str | None:
            view = cluster.view((self.scene.topic,))
            silent = [seen.broker for seen in view.views if not seen.answered and seen.broker in self.brokers]
            if silent:
                return f"broker {silent} does not answer yet"
            partitions = {s.partition for seen in view.answered() for s in seen.partitions}
            for number in sorted(partitions):
                state = view.partition(self.scene.topic, number)
                out = set(self.brokers) & set(state.replicas) - set(state.isr) if state else set()
                if out:
                    return f"broker {sorted(out)} is not in the ISR of partition {number} yet"
            return None

        left = seen_within(_REJOIN_SECONDS, missing)
        if left is not None:
            raise FaultError(
                "a killed broker did not come back",
                where=self.target,
                expected=f"in every ISR within {_REJOIN_SECONDS:g} s",
                found=left,
                next_step="see the broker's log in the run folder",
            )
        return f"{self.target} started and back in the ISR"


def _leader(view: TopologyView, topic: str, partition: int) -> int | None:
    state = view.partition(topic, partition)
    return None if state is None or state.leader < 0 else state.leader
