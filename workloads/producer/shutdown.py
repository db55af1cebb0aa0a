"""The end of a producer's client, whatever state it is in, and calls into it that may never return."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException

STUCK_SECONDS = 20.0
"""How long a call that was given a second may take before its client is given up as stuck."""
_log = logging.getLogger("kafka_chaos.client")


class ClientStuck(Exception):
    """A call into the client did not return. Nor can the client be closed: that would wait for the call."""


def within(seconds: float, work: Callable[[], Any], what: str) -> None:
    """Do `work` in a thread of its own; what it raises is raised here.

    librdkafka's send_offsets_to_transaction waits without a limit, whatever time-out it was given, while the
    group's coordinator cannot be reached (librdkafka issue 5456), and confluent-kafka's close() aborts and
    flushes without a limit.

    Raises:
        ClientStuck: it did not return within `seconds`; its thread is left behind.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        # Kept for the caller, who waits for it.
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


def flush(client: Any, seconds: float) -> int:
    """Deliver what can be within `seconds`; returns how many records still have no report.

    A client that died of a fatal error refuses to flush (it raises that error again): then the reports that
    it has are served, and nothing of it will be delivered any more.
    """
    try:
        left: int = client.flush(seconds)
    except KafkaException:
        while client.poll(0):
            pass
        return 0
    return left


def abandon(client: Any) -> None:
    """Give up what a client has not delivered and serve the reports of it; it is not closed."""
    client.purge(in_queue=True, in_flight=True, blocking=True)
    # Nothing of it waits for a broker any more.
    flush(client, 1.0)


def bury(client: Any) -> None:
    """As `abandon`, and close it. One that does not let itself be closed is left behind, said in the log."""
    abandon(client)
    try:
        within(STUCK_SECONDS, lambda: _close(client), "close")
    except ClientStuck:
        return


def _close(client: Any) -> None:
    with warnings.catch_warnings():
        # close() aborts what is open, and warns where a dead client cannot: it is journaled already.
        warnings.filterwarnings(
            "ignore", message="Producer abort_transaction failed", category=RuntimeWarning
        )
        client.close()
