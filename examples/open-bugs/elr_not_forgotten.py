"""A broker that was killed can never register again, because the controller remembers that it was an eligible
leader replica of a topic that does not exist any more (ELR, KIP-966).

It starts a cluster of three brokers and one controller with kafka-chaos, which has to be installed. A
partition gets an eligible leader replica, min.insync.replicas of its topic is changed, the topic is deleted,
and the broker is killed and started again. In the control the setting is changed when there is no eligible
leader replica.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from confluent_kafka.admin import AdminClient
from trials import SHOWN, trials

from kafka_chaos import ManagedCluster

TOPIC = "forgotten"
BROKER = 3
SECONDS = 120.0
"""The most that a step may take; a broker that cannot register ends after 60 s
(initial.broker.registration.timeout.ms)."""
FAULT = "existed in isrMembers, but not in the topics map"
"""What the controller logs each time that the broker tries."""


def wait_until(what: str, seen: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not seen():
        if time.monotonic() > until:
            raise SystemExit(f"not tried: {what} was not seen within {SECONDS:g} s")
        time.sleep(0.5)


def await_isr(cluster: ManagedCluster, size: int) -> None:
    def seen() -> bool:
        state = cluster.view((TOPIC,)).partition(TOPIC, 0)
        return state is not None and len(state.isr) == size

    wait_until(f"an ISR of {size}", seen)


def trial(version: str, *, while_away: bool) -> str:
    """`while_away`: the setting is changed while the broker is down, and not when it is back."""
    with ManagedCluster(version=version, brokers=3) as cluster:

        def change() -> None:
            refusal = cluster.change_settings(None, TOPIC, {"min.insync.replicas": "2"})
            if refusal is not None:
                raise SystemExit(f"not tried: min.insync.replicas was not changed: {refusal}")

        cluster.admin().create(TOPIC, partitions=1, replication_factor=3, config={"min.insync.replicas": "3"})
        await_isr(cluster, 3)
        cluster.kill(BROKER)
        # With fewer in sync than min.insync.replicas it becomes an eligible leader replica.
        await_isr(cluster, 2)
        if while_away:
            change()
        cluster.start_node(BROKER)
        await_isr(cluster, 3)
        if not while_away:
            change()
        cluster.admin().delete(TOPIC)
        wait_until("the end of the topic", lambda: cluster.view((TOPIC,)).partition(TOPIC, 0) is None)
        cluster.kill(BROKER)
        wait_until("a cluster without it", lambda: not answers(cluster))
        cluster.start_node(BROKER)
        wait_until("whether it comes back", lambda: answers(cluster) or not cluster.is_running(BROKER))
        shown = FAULT in cluster.log_since(101, 0)
        told = "the controller has" + (" not" if shown else "") + " forgotten the topic"
        if cluster.is_running(BROKER):
            return f"the broker came back; {told}"
        return f"{SHOWN if shown else ''}the broker ended with exit code {cluster.exit_code(BROKER)}; {told}"


def answers(cluster: ManagedCluster) -> bool:
    """Whether the other brokers know the broker as one that is not fenced."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    return BROKER in client.list_topics(timeout=10).brokers


if __name__ == "__main__":
    trials(
        {
            "4.4.0": partial(trial, "4.4.0", while_away=True),
            "4.3.1": partial(trial, "4.3.1", while_away=True),
            "4.1.1": partial(trial, "4.1.1", while_away=True),
            "control, 4.4.0": partial(trial, "4.4.0", while_away=False),
        },
        seconds=600,
    )
