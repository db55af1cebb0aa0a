"""What several faults inspect of brokers: which partitions they lead, and whether they are back."""

from __future__ import annotations

from itertools import product

from faults.shared.fault_spec import InjectionContext, node_names
from faults.shared.waiting import await_or_fail
from harness.model.broker_views import TopologyView
from harness.model.node_layout import FIRST_APPLICATION_ID

REJOIN_SECONDS = 90.0
_LISTED = 8


def partition_numbers(view: TopologyView) -> list[int]:
    """The numbers of all partitions that the answering brokers report, ascending."""
    return sorted({state.partition for broker in view.answered() for state in broker.partitions})


def partitions_led_by(
    view: TopologyView, topic: str, brokers: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """(partition, leader) of every partition of the topic that one of the brokers leads."""
    return tuple(
        (number, state.leader)
        for number in partition_numbers(view)
        if (state := view.partition(topic, number)) is not None and state.leader in brokers
    )


def describe_unmoved(view: TopologyView, topic: str, led: tuple[tuple[int, int], ...]) -> str | None:
    """The first partition that the old leader still leads, in words; None: all have moved or are offline."""
    for partition, old in led:
        state = view.partition(topic, partition)
        if state is None or state.leader == old:
            return f"partition {partition} is still led by broker {old}"
    return None


def leaders_of(view: TopologyView, topic: str, led: tuple[tuple[int, int], ...]) -> dict[int, int | None]:
    """The present leaders of these partitions (None: no leader)."""
    found: dict[int, int | None] = {}
    for partition, _ in led:
        state = view.partition(topic, partition)
        found[partition] = None if state is None or state.leader < 0 else state.leader
    return found


def describe_moves(led: tuple[tuple[int, int], ...], now: dict[int, int | None]) -> str:
    """Changes of leadership in words, at most eight of them."""
    return ", ".join(shortened([f"partition {part} from {old} to {now[part]}" for part, old in led]))


def describe_leaderless(nodes: tuple[int, ...]) -> str:
    """What a proof says of nodes that led no partition; applications never do."""
    brokers = any(node < FIRST_APPLICATION_ID for node in nodes)
    return "it led no partition of the topic" if brokers else "it is no broker"


def shortened(words: list[str]) -> list[str]:
    """The first eight, and the number of the others."""
    return words if len(words) <= _LISTED else [*words[:_LISTED], f"and {len(words) - _LISTED:,} more"]


def await_rejoined(context: InjectionContext, nodes: tuple[int, ...]) -> None:
    """Wait until the brokers answer and are in the ISR of every partition that they hold of the context's
    topics, and the controllers run and one is active.

    Raises:
        FaultError: not within 90 s.
    """

    cluster = context.cluster
    brokers = tuple(node for node in nodes if node in cluster.broker_ids)
    controllers = tuple(node for node in nodes if node in cluster.controller_ids)
    # An application ends with its run, which may be over: then nothing has to come back.
    nodes = tuple(node for node in nodes if node < FIRST_APPLICATION_ID or node in cluster.application_ids)

    def missing() -> str | None:
        stopped = [node for node in nodes if not cluster.is_running(node)]
        if stopped:
            return f"the process of {node_names(stopped)} does not run"
        if controllers and cluster.controller() is None:
            return "there is no active controller yet"
        view = cluster.view(context.topics) if brokers else None
        if view is None:
            return None
        silent = [seen.broker for seen in view.views if not seen.answered and seen.broker in brokers]
        if silent:
            return f"broker {silent} does not answer yet"
        for topic, number in product(context.topics, partition_numbers(view)):
            state = view.partition(topic, number)
            out = set(brokers) & set(state.replicas) - set(state.isr) if state else set()
            if out:
                return f"broker {sorted(out)} is not in the ISR of {topic}-{number} yet"
        return None

    await_or_fail(
        REJOIN_SECONDS,
        missing,
        "a node did not come back",
        where=node_names(nodes),
        expected="running, and in every ISR,",
        next_step="see the broker's log in the run folder",
    )
