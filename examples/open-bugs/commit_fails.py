"""What readers get of a transaction whose commit has failed with a time-out (librdkafka 4558).

Real brokers only: --bootstrap, and --topics, three topics of one partition. The proxies of
`proxied_brokers.py` hold one kind of message: the write to the third topic, as if its broker were away, or
the response to the commit (EndTxn), which the coordinator has then carried out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from proxied_brokers import Proxied, proxied_brokers
from trials import SHOWN, trials

CLIENT = "commits"
COMMIT_SECONDS, SECONDS = 1.0, 60.0
TRANSACTION_SECONDS = 20
"""transaction.timeout.ms; the coordinator looks for such transactions every 10 s by default."""


def read(bootstrap: str, topic: str, isolation: str) -> list[str]:
    """The values of a topic's partition 0, to its end for this isolation level."""
    settings = {
        "bootstrap.servers": bootstrap,
        "log_level": 0,
        "group.id": f"commit-{time.time_ns()}",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": isolation,
    }
    consumer, found = Consumer(settings), list[str]()
    consumer.assign([TopicPartition(topic, 0, 0)])
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        message = consumer.poll(0.2)
        error = None if message is None else message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            break
        if message is not None and error is None:
            found.append((message.value() or b"").decode())
    else:
        found.append("(not to its end)")
    consumer.close()
    return found


def of_second(bootstrap: str, topics: list[str], run: str, isolation: str) -> str:
    """In how many of the topics readers with this isolation level find the second transaction."""
    there = [f"{run}-second" in read(bootstrap, topic, isolation) for topic in topics]
    return f"{sum(there)} of {len(there)}"


def attempt(call: Callable[..., None], *given: Any) -> str:
    """What a call of the transactional API told."""
    try:
        call(*given)
    except KafkaException as error:
        told = error.args[0]
        kind = "retriable" if told.retriable() else "abort" if told.txn_requires_abort() else "not retriable"
        return f"{told.name()} ({kind})"
    return "OK"


def trial(bootstrap: str, proxied: Proxied, topics: list[str], held: dict[str, Any], then: str) -> str:
    run = f"r{time.time_ns()}"
    producer = Producer(
        {
            "bootstrap.servers": proxied.bootstrap,
            "client.id": CLIENT,
            "transactional.id": run,
            "transaction.timeout.ms": TRANSACTION_SECONDS * 1000,
            "log_level": 0,
        }
    )
    producer.init_transactions(SECONDS)
    told = ""
    for value in ("first", "second"):
        if value == "second":
            proxied.rule("held", action="hold", client=CLIENT, **held)
        producer.begin_transaction()
        for topic in topics:
            producer.produce(topic, f"{run}-{value}", partition=0)
        told = attempt(producer.commit_transaction, SECONDS if value == "first" else COMMIT_SECONDS)
        if value == "first" and told != "OK":
            return f"not tried: the first transaction was answered {told}"
    if not proxied.count("held"):
        return "not tried: nothing was held"
    committed = of_second(bootstrap, topics, run, "read_committed")
    written = of_second(bootstrap, topics, run, "read_uncommitted")
    proxied.heal("held")
    if then == "left":
        time.sleep(TRANSACTION_SECONDS + 15)
        ended = "nothing"
    else:
        ended = attempt(getattr(producer, then), SECONDS)
    last = of_second(bootstrap, topics, run, "read_committed")
    wrong = last != "0 of 3" and (then == "left" or ended == "OK") and then != "commit_transaction"
    told = f"commit: {told}, read as committed in {committed} topics, as uncommitted in {written}"
    return f"{SHOWN if wrong else ''}{told}; then {then}: {ended}, read as committed in {last}"


def arm(held: str, then: str) -> Callable[..., str]:
    def run(bootstrap: str | None, topics: str | None) -> str:
        if bootstrap is None or topics is None:
            return "not tried: needs --bootstrap and --topics"
        names = topics.split(",")
        what: dict[str, Any] = {"api": (held,)}
        what |= {"topic": names[-1]} if held == "Produce" else {"direction": "response"}
        with proxied_brokers(bootstrap) as proxied:
            return trial(bootstrap, proxied, names, what, then)

    return run


if __name__ == "__main__":
    trials(
        {
            "a write is held, aborted": arm("Produce", "abort_transaction"),
            "a write is held, left": arm("Produce", "left"),
            "control, a write is held, committed again": arm("Produce", "commit_transaction"),
            "the response is held, aborted": arm("EndTxn", "abort_transaction"),
            "control, the response is held, committed again": arm("EndTxn", "commit_transaction"),
        },
        options=("bootstrap", "topics"),
        seconds=240.0,
    )
