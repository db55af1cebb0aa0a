"""A fake cluster whose nodes are processes that stop and start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from faults.targets.target_context import ClusterShape
from harness.model.broker_views import TopologyView
from tests.support.builders.views import seen, silent, state, view
from tests.support.fake_cluster import FakeCluster

SECOND = 10**9


@dataclass
class Machine(FakeCluster):
    """A fake cluster with processes: each stop and start takes a second of its own clock."""

    views: list[TopologyView] = field(default_factory=list)
    clock: int = 1000 * SECOND
    epoch: int = 0
    leader: int = 1
    moves: bool = True
    slow: bool = False
    deeds: list[str] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=lambda: {1: 10, 2: 20, 3: 30, 101: 40})
    ends: dict[int, int] = field(default_factory=dict)
    logs: dict[int, str] = field(default_factory=dict)
    out_of_sync: tuple[int, ...] = ()
    lagging: tuple[int, ...] = ()
    after_start: Any = None

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:  # noqa: ARG002
        if self.views:
            return self.views[0]
        isr = tuple(n for n in (1, 2, 3) if n not in self.dead and n not in self.out_of_sync)
        states = state(leader=self.leader, epoch=self.epoch, isr=isr)
        return view(*(silent(n) if n in self.dead else seen(n, states) for n in (1, 2, 3)))

    def _down(self, deed: str, number: int, code: int) -> None:
        self.deeds.append(f"{deed} {number}")
        if self.immortal:
            return
        self.clock += SECOND
        self.ends[number] = self.clock
        self.dead.add(number)
        self.code = code
        if number == self.leader and self.moves:
            self.leader, self.epoch = number % 3 + 1, self.epoch + 1

    def kill(self, number: int) -> None:
        self._down("kill", number, 137)

    def terminate(self, number: int) -> None:
        self._down("stop", number, 137 if self.slow else 143)

    def start_node(self, number: int) -> None:
        if number not in self.dead:
            return
        self.deeds.append(f"start {number}")
        self.clock += SECOND
        self.starts[number] = self.clock
        self.dead.discard(number)
        if self.after_start is not None:
            self.after_start(number)

    def started_ns(self, number: int) -> int:
        return self.starts[number]

    def ended_ns(self, number: int) -> int:
        return self.ends.get(number, 0)

    def log_since(self, number: int, since_ns: int) -> str:
        assert since_ns == self.starts[number]
        return self.logs.get(number, "")

    def lagging_voters(self) -> tuple[int, ...]:
        return self.lagging


SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
