"""Delivery reports name offsets where other records stand, after a broker has answered that a batch is there
already (DUPLICATE_SEQUENCE_NUMBER), and so has named no offset.

Apache Kafka names the offset of a batch that is repeated, and is not known to give this answer; brokers of
other kinds do (Tansu 0.6.0). The mock cluster of `mock_brokers.py` gives it here.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer
from mock_brokers import PRODUCE, mock_cluster
from trials import SHOWN, trials

TOPIC = "t"
DUPLICATE_SEQUENCE_NUMBER = 46


def reported(*errors: int) -> str:
    """Write a batch of three records behind one of one record; the second request is answered so."""
    with mock_cluster(1) as cluster:
        cluster.create(TOPIC, replicas=1)
        producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 500,
                "log_level": 0,
            }
        )
        told: list[str] = []

        def report(error: Any, message: Any) -> None:
            told.append(error.name() if error else str(message.offset()))

        producer.produce(TOPIC, b"first", partition=0, on_delivery=report)
        producer.flush(30)
        if errors:
            cluster.answer(PRODUCE, *errors)
        for value in (b"a", b"b", b"c"):
            producer.produce(TOPIC, value, partition=0, on_delivery=report)
        producer.flush(30)
    what = f"the three records are reported at offsets {', '.join(told[1:])}"
    known = ["1", "2", "3"], ["None"] * 3, ["-1"] * 3, ["-1001"] * 3
    return what if told[1:] in known else SHOWN + what


if __name__ == "__main__":
    trials(
        {
            "DUPLICATE_SEQUENCE_NUMBER": lambda **_: reported(DUPLICATE_SEQUENCE_NUMBER),
            "control, no error": lambda **_: reported(),
        }
    )
