"""Kill: SIGKILL to a broker's process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from faults.base import Evidence, FaultSpec, Injection, Scene
from faults.leadership import await_rejoined, leaders, led_by, moves, still_led
from faults.targets import Target
from harness.model.waiting import seen_within

_MARGIN_SECONDS = 30.0


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
        led = led_by(view, scene.topic, brokers)
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
        cluster, topic = self.scene.cluster, self.scene.topic

        def missing() -> str | None:
            running = [broker for broker in self.brokers if cluster.is_running(broker)]
            if running:
                return f"the process of broker {running} still runs"
            view = cluster.view((topic,))
            # Nobody left to elect: everything is offline.
            return still_led(view, topic, self.led) if view.answered() else None

        left = seen_within(self.scene.session_seconds + _MARGIN_SECONDS, missing)
        if left is not None:
            return Evidence(False, left)
        now = leaders(cluster.view((topic,)), topic, self.led)
        return Evidence(
            True,
            f"process gone; leadership moved: {moves(self.led, now)}"
            if self.led
            else "process gone; it led nothing",
            {
                "exit_codes": {broker: cluster.exit_code(broker) for broker in self.brokers},
                "led": dict(self.led),
                "leaders_now": now,
            },
        )

    def heal(self) -> str:
        for broker in self.brokers:
            self.scene.cluster.start_node(broker)
        await_rejoined(self.scene, self.brokers)
        return f"{self.target} started and back in the ISR"
