"""A commit that is called again, and given up soon, ends the process when the coordinator answers.

commit_transaction() gives up when its time is over, and is to be called again so that the commit goes on. If
the second call gives up before librdkafka's own thread has looked at it, the client forgets that a commit is
going on, and takes the coordinator's answer for the end of an abort. Without --bootstrap the mock cluster of
`mock_brokers.py` answers EndTxn late; with --bootstrap real brokers answer at their own pace. Processes that
do nothing but compute keep the machine busy in every arm, for otherwise that thread is hardly ever late.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from confluent_kafka import KafkaException, Producer
from mock_brokers import END_TXN, MockCluster, mock_cluster
from trials import trials

TOPIC = "commit-resumed"
LATE_SECONDS, PAUSE_SECONDS, SECONDS = 0.2, 0.02, 30.0
"""How late EndTxn is answered, how long the application does something else between two calls, and the most
that a transaction may take."""


COMPUTE = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
"""Ends with the process that started it, also where that is aborted."""


@contextmanager
def busy_machine() -> Iterator[None]:
    """Eight processes for each processor compute meanwhile."""
    started = [subprocess.Popen([sys.executable, "-c", COMPUTE]) for _ in range(8 * (os.cpu_count() or 1))]
    yield
    for one in started:
        one.kill()


def commit(producer: Producer, seconds: float) -> tuple[str, int]:
    """Commit with calls of `seconds` each: the error of the last one ("OK" without one), and their number."""
    until, calls = time.monotonic() + SECONDS, 0
    while True:
        calls += 1
        try:
            producer.commit_transaction(seconds)
        except KafkaException as failure:
            told = failure.args[0].name()
            if told != "_TIMED_OUT" or time.monotonic() > until:
                return told, calls
            time.sleep(PAUSE_SECONDS)
        else:
            return "OK", calls


def transactions(number: int, seconds: float, bootstrap: str | None) -> str:
    """Commit `number` transactions one after the other, with calls of `seconds` each."""
    real: Any = nullcontext(None)
    with busy_machine(), mock_cluster(1) if bootstrap is None else real as cluster:
        if isinstance(cluster, MockCluster):
            cluster.create(TOPIC, replicas=1)
            bootstrap = cluster.bootstrap
        producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": TOPIC, "log_level": 0, "linger.ms": 0}
        )
        producer.init_transactions(SECONDS)
        most = 0
        for done in range(number):
            producer.begin_transaction()
            producer.produce(TOPIC, b"value")
            producer.flush(SECONDS)
            if isinstance(cluster, MockCluster):
                cluster.late(END_TXN, LATE_SECONDS)
            told, calls = commit(producer, seconds)
            most = max(most, calls)
            if told != "OK":
                return f"transaction {done} ended with {told}"
    return f"{number} transactions were committed, with at most {most} calls each"


if __name__ == "__main__":
    trials(
        {
            "calls of 1 ms": lambda bootstrap: transactions(400, 0.001, bootstrap),
            "control, calls of 100 ms": lambda bootstrap: transactions(50, 0.1, bootstrap),
            "control, calls of 30 s": lambda bootstrap: transactions(50, SECONDS, bootstrap),
        },
        options=["bootstrap"],
        seconds=240.0,
        is_crash=True,
    )
