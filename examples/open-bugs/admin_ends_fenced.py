"""An admin client that asks for the end of a partition after its leader's epoch has risen is told
FENCED_LEADER_EPOCH. It asks with the old epoch every time, until metadata.max.age.ms (15 minutes) has passed.

Without --bootstrap librdkafka's mock cluster answers; `mock_brokers.py` says how. With it the epoch has to
rise between the questions: the script prints `asked` after the first one and waits for a line on its input.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from mock_brokers import MockCluster, mock_cluster
from trials import SHOWN, trials

ATTEMPTS = 20
APART = 0.25
"""Seconds between two questions."""


def ask(client: AdminClient, topic: str) -> str:
    """`answered`, or the error's name."""
    place = TopicPartition(topic, 0)
    try:
        client.list_offsets({place: OffsetSpec.latest()}, request_timeout=5)[place].result(30)
    except KafkaException as error:
        return str(error.args[0].name())
    return "answered"


def ask_again(client: AdminClient, topic: str) -> str:
    """Ask until it is answered, 20 times at most."""
    told = []
    for _ in range(ATTEMPTS):
        told.append(ask(client, topic))
        if told[-1] == "answered":
            break
        time.sleep(APART)
    if set(told) == {"FENCED_LEADER_EPOCH"}:
        return f"{SHOWN}FENCED_LEADER_EPOCH at all of {ATTEMPTS} questions in {ATTEMPTS * APART:g} s"
    return f"answered at question {len(told)}, before it {sorted(set(told[:-1])) or 'no error'}"


def elected(*leaders: int, max_age_ms: int = 900_000) -> str:
    """Ask broker 1, let these brokers lead one after the other, and ask again."""

    def elect(cluster: MockCluster) -> None:
        for broker in leaders:
            cluster.lead("t", broker)

    with mock_cluster() as cluster:
        cluster.create("t", 3)
        cluster.lead("t", 1)
        settings = {"bootstrap.servers": cluster.bootstrap, "log_level": 0, "metadata.max.age.ms": max_age_ms}
        client = AdminClient(settings)
        ask(client, "t")
        elect(cluster)
        return ask_again(client, "t")


def same_leader(bootstrap: str | None, topic: str | None) -> str:
    """The same broker leads, with a higher epoch."""
    if bootstrap is None:
        return elected(2, 1)
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    print("asked:", ask(client, topic or "t"), flush=True)
    sys.stdin.readline()
    return ask_again(client, topic or "t")


if __name__ == "__main__":
    trials(
        {
            "the same leader, a higher epoch": same_leader,
            "control, another leader": lambda **_: elected(2),
            "metadata.max.age.ms=2000": lambda **_: elected(2, 1, max_age_ms=2000),
        },
        options=("bootstrap", "topic"),
    )
