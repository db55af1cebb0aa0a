"""Stop: a controlled shutdown of a broker."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from faults.base import Evidence, FaultSpec, Injection, Scene
from faults.leadership import await_rejoined, leaders, led_by, moves, still_led
from faults.targets import Target

_SECONDS = 60.0
_CLEAN_EXITS = (0, 143)
"""143: ended by SIGTERM after the JVM's shutdown hooks have run."""


class Stop(FaultSpec):
    """SIGTERM to every broker of the target; healed by starting it again.

    What Kafka does: with controlled.shutdown.enable (the default) the broker asks the controller to move
    the partitions that it leads, and only then closes its logs and exits; so writes stall for a moment
    only, and nothing has to be recovered at the next start.

    Proof: every partition that it led is seen with another leader while its process still runs, and the
    process ends with a clean exit code.
    """

    kind: Literal["stop"] = "stop"
    target: Target = Field(description="which brokers")

    def inject(self, scene: Scene) -> Injection:
        view = scene.cluster.view((scene.topic,))
        brokers = self.target.resolve(view, scene.topic)
        led = led_by(view, scene.topic, brokers)
        for broker in brokers:
            scene.cluster.terminate(broker)
        return _Stopped(scene, brokers, led)


@dataclass(frozen=True)
class _Stopped:
    scene: Scene
    brokers: tuple[int, ...]
    led: tuple[tuple[int, int], ...]

    @property
    def target(self) -> str:
        return "broker " + ", ".join(map(str, self.brokers))

    def verify(self) -> Evidence:
        cluster, topic = self.scene.cluster, self.scene.topic
        deadline = time.monotonic() + _SECONDS
        moved_while_running: dict[int, int | None] | None = None
        # No pause between two looks: the moment between the last move and the exit is short.
        while any(cluster.is_running(broker) for broker in self.brokers):
            if time.monotonic() > deadline:
                return Evidence(False, f"{self.target} still runs {_SECONDS:g} s after SIGTERM")
            view = cluster.view((topic,))
            if moved_while_running is None and still_led(view, topic, self.led) is None:
                running = [broker for broker in self.brokers if cluster.is_running(broker)]
                if set(running) >= {old for _, old in self.led}:
                    moved_while_running = leaders(view, topic, self.led)
        codes = {broker: cluster.exit_code(broker) for broker in self.brokers}
        facts: dict[str, object] = {"exit_codes": codes, "led": dict(self.led)}
        unclean = {broker: code for broker, code in codes.items() if code not in _CLEAN_EXITS}
        if unclean:
            return Evidence(False, f"not a clean exit: {unclean}", facts)
        if not self.led:
            return Evidence(True, "clean exit; it led nothing", facts)
        if moved_while_running is None:
            return Evidence(False, "leadership was not seen to move before the exit", facts)
        facts["leaders_before_exit"] = moved_while_running
        return Evidence(
            True, f"leadership moved before the exit: {moves(self.led, moved_while_running)}", facts
        )

    def heal(self) -> str:
        for broker in self.brokers:
            self.scene.cluster.start_node(broker)
        await_rejoined(self.scene, self.brokers)
        return f"{self.target} started and back in the ISR"
