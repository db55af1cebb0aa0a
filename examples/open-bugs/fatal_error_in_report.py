"""A fatal error of a producer is raised as SystemError, and one delivery report is lost, where the call that
raises it has reports to serve behind it.

confluent-kafka raises a fatal error in the poll or flush that is next (KafkaException), and goes on with the
reports. The first of their callbacks is called while that exception is set. The mock cluster of
`mock_brokers.py` refuses a request, for which librdkafka ends the producer.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaException, Producer
from mock_brokers import PRODUCE, mock_cluster
from trials import SHOWN, trials

TOPIC, PARTITIONS, RECORDS = "t", 4, 20
OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH = 45, 47


def flushed(error: int, *, transactional: bool = False, reports: bool = True) -> str:
    """Write records to four partitions; the first of the four requests is refused with this error."""
    with mock_cluster(1) as cluster:
        cluster.create(TOPIC, replicas=1, partitions=PARTITIONS)
        more = {"transactional.id": "x"} if transactional else {}
        producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 100,
                "log_level": 0,
                **more,
            }
        )
        told: list[str] = []

        def report(failure: Any, _message: Any) -> None:
            told.append(failure.name() if failure else "OK")

        callback: Any = {"on_delivery": report} if reports else {}
        if transactional:
            producer.init_transactions(30)
            producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, b"first", partition=partition, **callback)
        producer.flush(30)
        told.clear()
        cluster.answer(PRODUCE, error)
        for number in range(PARTITIONS * RECORDS):
            producer.produce(TOPIC, b"value", partition=number % PARTITIONS, **callback)
        raised = "nothing"
        try:
            producer.flush(10)
        except KafkaException as failure:
            raised = f"KafkaException {failure.args[0].name()}"
        except SystemError:
            raised = "SystemError"
        producer.flush(10)
    what = f"flush raised {raised}"
    if reports:
        what += f"; {len(told)} of {PARTITIONS * RECORDS} records were reported"
    return SHOWN + what if raised == "SystemError" else what


if __name__ == "__main__":
    trials(
        {
            "idempotent": lambda **_: flushed(OUT_OF_ORDER_SEQUENCE_NUMBER),
            "transactional": lambda **_: flushed(INVALID_PRODUCER_EPOCH, transactional=True),
            "control, without a callback": lambda **_: flushed(OUT_OF_ORDER_SEQUENCE_NUMBER, reports=False),
        }
    )
