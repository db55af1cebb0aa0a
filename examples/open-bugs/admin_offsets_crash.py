"""The process ends with a segmentation fault when an admin client asks for a group's offsets and the broker
answers that it is not the group's coordinator (librdkafka 5040).

The mock cluster of `mock_brokers.py` gives that answer. With --bootstrap real brokers are asked, by the arm
`moved` alone: it prints `asked` after a first question and waits for a line on its input, so that the group's
coordinator can move in between.
"""

from __future__ import annotations

import sys

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient
from mock_brokers import OFFSET_FETCH, mock_cluster
from trials import trials

COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16


def ask(client: AdminClient, group: str) -> str:
    """What the call did: it returned the offsets, or raised an error, which is named."""
    asked = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=10)
    try:
        asked[group].result(30)
    except KafkaException as error:
        return f"the call raised {error.args[0].name()}"
    return "the call returned"


def answered_with(code: int) -> str:
    """Ask the mock cluster twice; the second request is answered with this error."""
    with mock_cluster() as cluster:
        client = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        ask(client, "g")
        cluster.answer(OFFSET_FETCH, code)
        return ask(client, "g")


def moved(bootstrap: str | None, group: str | None) -> str:
    """Ask real brokers, let the coordinator move, and ask again."""
    if bootstrap is None:
        return "not tried: needs --bootstrap"
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    print("asked:", ask(client, group or "g"), flush=True)
    sys.stdin.readline()
    return ask(client, group or "g")


if __name__ == "__main__":
    trials(
        {
            "NOT_COORDINATOR": lambda **_: answered_with(NOT_COORDINATOR),
            "COORDINATOR_NOT_AVAILABLE": lambda **_: answered_with(COORDINATOR_NOT_AVAILABLE),
            "control, COORDINATOR_LOAD_IN_PROGRESS": lambda **_: answered_with(COORDINATOR_LOAD_IN_PROGRESS),
            "moved": moved,
        },
        options=("bootstrap", "group"),
        is_crash=True,
    )
