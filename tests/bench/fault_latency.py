"""Measures the time from the decision to inject a fault until it is in effect, on a real cluster.

    python -m tests.bench.fault_latency [repeats]

Prints a table: median, fastest and slowest of the repeats, in milliseconds. The time includes resolving the
targets, and does not include Kafka's reaction (an election, for example). In effect means: the engine says
that the process is gone (kill) or frozen (pause); or the rules are in the kernel (partition), which the exit
of the last sidecar shows. Each repeat is healed, and the topic settles, before the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from faults import Kill, Partition, Pause
from faults.shared.fault_spec import FaultSpec, Injection, InjectionContext
from faults.targets import Followers, Leader
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.polling import poll_within
from tests.bench.rows import Row, table

_TOPIC = "bench"
_EFFECT_SECONDS = 30.0
_SETTLE_SECONDS = 120.0

Effect = Callable[[ManagedCluster, Injection], bool]

CASES: tuple[tuple[str, FaultSpec, Effect, float], ...] = (
    (
        "kill the leader",
        Kill(target=Leader(leader=0)),
        lambda cluster, done: not any(cluster.is_running(node) for node in done.nodes),
        500,
    ),
    (
        "pause the leader",
        Pause(target=Leader(leader=0)),
        lambda cluster, done: all(cluster.is_paused(node) for node in done.nodes),
        300,
    ),
    (
        "partition leader from followers",
        Partition(side=Leader(leader=0), other=Followers(followers=0)),
        lambda _cluster, _done: True,
        300,
    ),
)
"""Name, fault, when it is in effect, and the milliseconds that it should take at most."""


def effect_ms(cluster: ManagedCluster, spec: FaultSpec, in_effect: Effect, tag: str) -> float:
    """Milliseconds from the decision until the fault is in effect; heals it and waits until all is
    settled."""
    context = InjectionContext(cluster, _TOPIC, 4.0, tag)
    began = time.perf_counter()
    injection = spec.aim(context)
    injection.apply(context)
    left = poll_within(
        _EFFECT_SECONDS, lambda: None if in_effect(cluster, injection) else "not in effect", every=0.005
    )
    took = (time.perf_counter() - began) * 1e3
    injection.heal(context)
    settle(cluster, _TOPIC, 1, 3, _SETTLE_SECONDS)
    if left is not None:
        raise RuntimeError(f"{spec.name()}: {left}")
    return took


def rows(repeats: int = 5) -> list[Row]:
    """Milliseconds from decision to effect, by fault, on one cluster."""
    found = []
    with ManagedCluster() as cluster:
        admin = cluster.admin()
        admin.create(_TOPIC, partitions=1, replication_factor=3, config={})
        settle(cluster, _TOPIC, 1, 3, _SETTLE_SECONDS)
        for name, spec, in_effect, meant in CASES:
            took = [
                effect_ms(cluster, spec, in_effect, f"kafka-chaos-bench-{turn}") for turn in range(repeats)
            ]
            found.append(Row.of(f"{name}, decision to effect", "ms", took, goal=meant))
    return found


def main(repeats: Annotated[int, typer.Argument(help="Injections of each fault.")] = 10) -> None:
    """Measure the time from the decision to inject a fault until it is in effect, on a real cluster."""
    Console(width=160).print(table(rows(repeats)))


if __name__ == "__main__":
    typer.run(main)
