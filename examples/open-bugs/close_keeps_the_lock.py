"""close() of a consumer never returns, and no other thread of the process runs Python any more: it holds
Python's lock. An assignment has arrived that the application has not polled yet. close() calls back about it,
while librdkafka's main thread leaves and ends the group without waiting for it. What the callback then asks
of the group, its protocol or an assignment, gets no answer if it comes between its last work and its end.

The window is some microseconds wide. Each trial closes consumers one after the other, whose callbacks take
between 0 and 1 ms (`--window MS`: as long as leaving the group takes), until one does not return within 10 s;
`--closes N` says how many at most (300).

Without --bootstrap librdkafka's mock cluster answers; `mock_brokers.py` says how. --topic is a topic of real
brokers, and --joined the seconds after which a new consumer's assignment has arrived (0.15).
"""

from __future__ import annotations

import faulthandler
import random
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer
from mock_brokers import mock_cluster
from trials import SHOWN, trials

STUCK = 10.0
"""Seconds after which a close counts as never ending."""


@contextmanager
def group_brokers(bootstrap: str | None) -> Any:
    if bootstrap is not None:
        yield bootstrap
        return
    with mock_cluster(1) as cluster:
        cluster.create("t", 1)
        cluster.join_at_once()
        yield cluster.bootstrap


def closes(
    *,
    in_callback: Callable[[Any, Any], None] = lambda _consumer, _partitions: None,
    before_close: Callable[[Any, list[int]], None] = lambda _consumer, _called: None,
) -> Callable[..., str]:
    """An arm: what the callback does after its pause, and the application before it closes."""

    def arm(
        bootstrap: str | None, topic: str | None, closes: str | None, joined: str | None, window: str | None
    ) -> str:
        called: list[int] = []
        with group_brokers(bootstrap) as address:
            for number in range(int(closes or 300)):
                consumer = Consumer(
                    {"bootstrap.servers": address, "group.id": f"close-{time.time_ns()}", "log_level": 0}
                )
                pause = random.uniform(0, float(window or 1) / 1000)

                def on_assign(
                    consumer: Any, partitions: Any, number: int = number, pause: float = pause
                ) -> None:
                    called.append(number)
                    end = time.monotonic() + pause
                    while time.monotonic() < end:
                        pass
                    in_callback(consumer, partitions)

                consumer.subscribe([topic or "t"], on_assign=on_assign)
                time.sleep(float(joined or 0.15))
                print(f"{SHOWN}close {number + 1} has not returned after {STUCK:g} s", flush=True)
                # Ends the process from a thread that needs no lock of Python's.
                faulthandler.dump_traceback_later(STUCK, exit=True, file=sys.stdout)
                before_close(consumer, called)
                consumer.close()
                faulthandler.cancel_dump_traceback_later()
        return f"all closes returned; the callback was called in {len(called)} of {number + 1}"

    return arm


def poll_until_assigned(consumer: Any, called: list[int]) -> None:
    """Serve the callback before the close."""
    before = len(called)
    while len(called) == before:
        consumer.poll(0.1)


def leave_first(consumer: Any, _called: list[int]) -> None:
    """Leave the group, and serve what is queued, before the close."""
    consumer.unsubscribe()
    consumer.poll(0.1)


if __name__ == "__main__":
    trials(
        {
            "a callback": closes(),
            "a callback that assigns": closes(in_callback=lambda consumer, parts: consumer.assign(parts)),
            "control, polled before the close": closes(before_close=poll_until_assigned),
            "control, unsubscribed before the close": closes(before_close=leave_first),
        },
        options=("bootstrap", "topic", "closes", "joined", "window"),
        seconds=400.0,
    )
