"""What a consumer is given that is assigned a partition without an offset, and, before the broker has told
which one that is, is assigned it again from an offset of its own (librdkafka 5345, confluent-kafka-python
2184): a late answer to the first assignment overwrites the second one.

Without --bootstrap librdkafka's mock cluster answers; `mock_brokers.py` says how. --topic is a topic of real
brokers, of one partition, which gets 30 records more; the proxies of `proxied_brokers.py` delay the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import OFFSET_INVALID, Consumer, Producer, TopicPartition
from mock_brokers import LIST_OFFSETS, OFFSET_FETCH, mock_cluster
from trials import SHOWN, trials

RECORDS, SKIPPED = 30, 5
"""Records that are written, and how many of them come before the offset of the second assign()."""
LATE = 3.0
"""Seconds after which the answer comes."""
BETWEEN, LONGEST = 1.5, 60.0
"""Seconds between the two calls of assign(), at least, and at most until a real broker has been asked."""
EACH = 0.3
"""Seconds that the application takes for a record: some are still to be fetched when the answer comes."""
CLIENT = "late"
NAMES = {LIST_OFFSETS: "ListOffsets", OFFSET_FETCH: "OffsetFetch"}


def given(
    bootstrap: str,
    topic: str,
    reset: str,
    delay: Callable[[], None],
    was_asked: Callable[[], bool] = lambda: True,
) -> str:
    """Assign without an offset, and then with one; what was given of the records, in words."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "batch.num.messages": 1})
    written: list[int] = []
    for number in range(RECORDS):
        producer.produce(
            topic, str(number), partition=0, on_delivery=lambda _, message: written.append(message.offset())
        )
    producer.flush(30)
    expected = sorted(written)[SKIPPED:]
    settings = {
        "bootstrap.servers": bootstrap,
        "client.id": CLIENT,
        "log_level": 0,
        "group.id": f"late-{time.time_ns()}",
        "auto.offset.reset": reset,
        "enable.auto.commit": False,
        # One record at a time, and no other one before it was taken.
        "fetch.message.max.bytes": 1,
        "queued.min.messages": 1,
        "fetch.queue.backoff.ms": 10,
    }
    consumer = Consumer(settings)
    # The coordinator is known from here on; a new cluster has none for some time.
    consumer.committed([TopicPartition(topic, 0)], timeout=LONGEST)
    delay()
    consumer.assign([TopicPartition(topic, 0, OFFSET_INVALID)])
    consumer.poll(BETWEEN)
    give_up = time.monotonic() + LONGEST
    while not was_asked() and time.monotonic() < give_up:
        consumer.poll(0.1)
    consumer.assign([TopicPartition(topic, 0, expected[0])])
    offsets: list[int] = []
    until = time.monotonic() + EACH * RECORDS + 3 * LATE
    while time.monotonic() < until and expected[-1] not in offsets:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            offsets.append(message.offset())
            time.sleep(EACH)
    if offsets == expected:
        return "every record from there on, once"
    if any(offset < expected[0] for offset in offsets):
        began = "some records, and then" if offsets[0] == expected[0] else "at once"
        return f"{SHOWN}{began} records from before that offset"
    return f"{SHOWN}{'some records' if offsets else 'no record'}, and then none: the rest was skipped"


def arm(late: int | None, reset: str) -> Callable[..., str]:
    def on_real_brokers(bootstrap: str, topic: str) -> str:
        from proxied_brokers import proxied_brokers

        with proxied_brokers(bootstrap) as proxied:

            def delay() -> None:
                if late is not None:
                    what = {"api": (NAMES[late],), "direction": "response", "client": CLIENT, "first": 1}
                    proxied.rule("late", action="delay", delay_ms=LATE * 1000, **what)

            def was_asked() -> bool:
                return late is None or proxied.count("late") > 0

            seen = given(proxied.bootstrap, topic, reset, delay, was_asked)
            return seen if was_asked() else "not tried: no answer was late"

    def run(bootstrap: str | None, topic: str | None) -> str:
        if bootstrap is not None:
            return on_real_brokers(bootstrap, topic or "t")
        with mock_cluster(1) as cluster:
            cluster.create("t", 1)
            return given(
                cluster.bootstrap, "t", reset, lambda: None if late is None else cluster.late(late, LATE)
            )

    return run


if __name__ == "__main__":
    trials(
        {
            "ListOffsets is late, latest": arm(LIST_OFFSETS, "latest"),
            "ListOffsets is late, earliest": arm(LIST_OFFSETS, "earliest"),
            "control, OffsetFetch is late, latest": arm(OFFSET_FETCH, "latest"),
            "control, OffsetFetch is late, earliest": arm(OFFSET_FETCH, "earliest"),
            "control, nothing is late": arm(None, "latest"),
        },
        options=("bootstrap", "topic"),
        seconds=90.0,
    )
