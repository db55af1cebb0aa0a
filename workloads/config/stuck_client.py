"""Bounds calls into a client that may never return."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

CLOSE_SECONDS = 120.0
"""Seconds for a consumer to close: its last commit may wait 60 s for a broker (socket.timeout.ms)."""
_log = logging.getLogger("kafka_chaos.client")


class ClientStuck(Exception):
    """A call into the client did not return. The client cannot be closed either: that would wait for the
    call."""


def call_with_timeout(seconds: float, work: Callable[[], Any], what: str) -> None:
    """Run `work` in a thread of its own and re-raise its exception.

    librdkafka's send_offsets_to_transaction ignores its time-out and waits without a limit while the group's
    coordinator cannot be reached (librdkafka issue 5456), and confluent-kafka's close() aborts and
    flushes without a limit.

    Raises:
        ClientStuck: it did not return within `seconds`; its thread is left running.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        # Kept for the caller, which waits for the thread.
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name=f"call-{what}", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        _log.error("%s did not return within %g s: the client is given up", what, seconds)
        raise ClientStuck(f"{what} did not return within {seconds:g} s")
    if raised:
        raise raised[0]


def close_consumer(consumer: Any, name: str) -> None:
    """Close a consumer.

    librdkafka's close may lock up while a broker's thread answers a fetch with an error. It may also wait, in
    its callback of a rebalance and with Python's lock held, for a group that has ended: then nothing in this
    process goes on, and only a consumer in a process of its own can be given up.

    Raises:
        ClientStuck: it did not return within `CLOSE_SECONDS`; it is left as it is.
    """
    call_with_timeout(CLOSE_SECONDS, consumer.close, f"close of {name}")
