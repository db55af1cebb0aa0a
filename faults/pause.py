"""Pause: a broker's processes are frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from faults.base import Evidence, FaultSpec, Injection, Scene
from faults.leadership import await_rejoined
from faults.targets import Target
from harness.model.waiting import seen_within

_SECONDS = 10.0


class Pause(FaultSpec):
    """Freeze every process of the target's brokers (cgroup freezer); healed by thawing them.

    What Kafka does: the broker sends no heartbeat and fetches nothing, while its connections stay open. A
    pause shorter than broker.session.timeout.ms and replica.lag.time.max.ms only stalls writes under
    acks=all; a longer one fences the broker. What was on its way to it sits in its socket buffers and is
    dealt with on resume, so a paused follower may still take what it had been sent.

    Proof: the engine says that the container is paused, and the broker answers nothing.
    """

    kind: Literal["pause"] = "pause"
    target: Target = Field(description="which brokers")

    def inject(self, scene: Scene) -> Injection:
        brokers = self.target.resolve(scene.cluster.view((scene.topic,)), scene.topic)
        for broker in brokers:
            scene.cluster.pause(broker)
        return _Paused(scene, brokers)


@dataclass(frozen=True)
class _Paused:
    scene: Scene
    brokers: tuple[int, ...]

    @property
    def target(self) -> str:
        return "broker " + ", ".join(map(str, self.brokers))

    def verify(self) -> Evidence:
        cluster = self.scene.cluster

        def missing() -> str | None:
            awake = [broker for broker in self.brokers if not cluster.is_paused(broker)]
            if awake:
                return f"broker {awake} is not paused"
            view = cluster.view((self.scene.topic,), timeout=0.5)
            answering = [seen.broker for seen in view.answered() if seen.broker in self.brokers]
            return f"broker {answering} still answers" if answering else None

        left = seen_within(_SECONDS, missing)
        return Evidence(left is None, left or "frozen, and answers nothing", {"brokers": self.brokers})

    def heal(self) -> str:
        for broker in self.brokers:
            if self.scene.cluster.is_paused(broker):
                self.scene.cluster.unpause(broker)
        await_rejoined(self.scene, self.brokers)
        return f"{self.target} thawed and back in the ISR"
