"""Whether an idempotent producer sends a record again as a new one when the response for it is lost and,
meanwhile, a request for another partition is refused (librdkafka 4953). The requests behind the refused one
are then answered OUT_OF_ORDER_SEQUENCE_NUMBER, and the producer takes a new epoch for all partitions. A
broker knows a repetition by producer id, epoch and sequence number; in a new epoch it cannot.

Without --bootstrap librdkafka's mock cluster answers (`mock_brokers.py`), which keeps repetitions, so that
they can be compared. --topic is a topic of real brokers, of two partitions that different brokers lead; the
proxies of `proxied_brokers.py` lose the response and refuse the request. kafka-chaos, which reads the log,
has to be installed.
"""

from __future__ import annotations

import struct
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer
from mock_brokers import PRODUCE, mock_cluster
from trials import SHOWN, trials

from harness.cluster.protocol.client_requests import fetch
from harness.cluster.protocol.connection import BrokerConnection

CLIENT = "again"
OTHERS = 5
"""Records to partition 1, a request each, sent together."""
LOST_SECONDS, SECONDS = 4.0, 30.0
"""When the producer gives a response up (socket.timeout.ms), and the most that a step may take."""
NOT_ENOUGH_REPLICAS, OUT_OF_ORDER = 19, 45


def write(
    bootstrap: str, topic: str, value: str, begin: Callable[[], None], sent: Callable[[], bool], **more: Any
) -> Counter[str]:
    """Write a record to each partition and `begin`; then one to partition 0, and when it was `sent` others
    to partition 1; how many reports had which error, or `OK`. A broker that does not know a producer accepts
    any first sequence number of it (KIP-360), hence the first records."""
    reports: Counter[str] = Counter()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": CLIENT,
            "log_level": 0,
            "enable.idempotence": True,
            "linger.ms": 0,
            "batch.num.messages": 1,
            "socket.timeout.ms": round(LOST_SECONDS * 1000),
            "request.timeout.ms": 3000,
            **more,
        }
    )
    producer.list_topics(topic, timeout=SECONDS)

    def reported(error: Any, _message: Any) -> None:
        reports[error.name() if error else "OK"] += 1

    for number in (0, 1):
        producer.produce(topic, "before", partition=number)
    producer.flush(SECONDS)
    begin()
    producer.produce(topic, value, partition=0, on_delivery=reported)
    until = time.monotonic() + SECONDS
    while not sent() and time.monotonic() < until:
        producer.poll(0.05)
    for number in range(OTHERS):
        producer.produce(topic, f"{value}-{number}", partition=1, on_delivery=reported)
    producer.flush(SECONDS)
    return reports


def copies(bootstrap: str, topic: str, value: str) -> list[tuple[int, int, int]]:
    """Producer id, epoch and sequence number of each batch of partition 0 with this value, in log order.
    Format: https://kafka.apache.org/documentation/#recordbatch"""
    known = Producer({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(topic, timeout=SECONDS)
    leader = known.brokers[known.topics[topic].partitions[0].leader]
    found, offset = [], 0
    with BrokerConnection(leader.id, leader.host, leader.port, timeout=SECONDS) as connection:
        while data := fetch(connection, topic, 0, offset).data:
            position = 0
            while position < len(data):
                base, length = struct.unpack_from(">qi", data, position)
                batch = data[position : position + 12 + length]
                (last,) = struct.unpack_from(">i", batch, 23)
                if value.encode() in batch:
                    found.append(struct.unpack_from(">qhi", batch, 43))
                position, offset = position + len(batch), base + last + 1
    return found


def seen(reports: Counter[str], found: list[tuple[int, int, int]]) -> str:
    told = ", ".join(f"epoch {epoch} sequence {sequence}" for _, epoch, sequence in found)
    return f"{SHOWN if len(set(found)) > 1 else ''}reports {dict(reports)}; the record is there as {told}"


def on_mock_brokers(value: str, *, lost: bool, refused: bool, **more: Any) -> str:
    with mock_cluster(2) as cluster:
        cluster.create("t", 1, partitions=2)
        cluster.lead("t", 1, partition=0)
        cluster.lead("t", 2, partition=1)

        def begin() -> None:
            if lost:
                cluster.late(PRODUCE, 2 * LOST_SECONDS)
            if refused:
                # With one request in flight nothing is behind the one that is refused.
                behind = 0 if more else OTHERS - 1
                cluster.refuse(2, PRODUCE, NOT_ENOUGH_REPLICAS, *[OUT_OF_ORDER] * behind, late=0.5)
            began.append(time.monotonic())

        began: list[float] = []
        reports = write(cluster.bootstrap, "t", value, begin, lambda: time.monotonic() > began[0] + 1, **more)
        return seen(reports, copies(cluster.bootstrap, "t", value))


def on_real_brokers(bootstrap: str, topic: str, value: str, *, lost: bool, refused: bool, **more: Any) -> str:
    from proxied_brokers import proxied_brokers

    known = Producer({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(topic, timeout=SECONDS)
    if len({one.leader for one in known.topics[topic].partitions.values()}) != 2:
        return "not tried: the topic needs two partitions that different brokers lead"
    with proxied_brokers(bootstrap) as proxied:
        of: dict[str, Any] = {"api": ("Produce",), "client": CLIENT, "topic": topic, "first": 1}

        def begin() -> None:
            action = "drop" if lost else "count"
            proxied.rule("lost", action=action, direction="response", partition=0, **of)
            if refused:
                # Those behind it are on their way when the client is told.
                proxied.rule("slow", action="delay", delay_ms=500, partition=1, **of)
            error = {"action": "error", "error": "NOT_ENOUGH_REPLICAS"} if refused else {"action": "count"}
            proxied.rule("refused", partition=1, **error, **of)

        reports = write(
            proxied.bootstrap, topic, value, begin, lambda: proxied.count("lost", "matched") > 0, **more
        )
        if not (proxied.count("lost", "matched") and proxied.count("refused", "matched")):
            return "not tried: the proxies saw none of these requests"
    return seen(reports, copies(bootstrap, topic, value))


def arm(**what: Any) -> Callable[..., str]:
    def run(bootstrap: str | None, topic: str | None) -> str:
        value = f"r{time.time_ns()}"
        if bootstrap is None:
            return on_mock_brokers(value, **what)
        return on_real_brokers(bootstrap, topic or "t", value, **what)

    return run


if __name__ == "__main__":
    trials(
        {
            "lost, and another refused": arm(lost=True, refused=True),
            "control, lost": arm(lost=True, refused=False),
            "control, another refused": arm(lost=False, refused=True),
            "control, one request in flight": arm(lost=True, refused=True, **{"max.in.flight": 1}),
        },
        options=("bootstrap", "topic"),
        seconds=150.0,
    )
