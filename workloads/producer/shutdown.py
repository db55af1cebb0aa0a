"""Ends a producer's client in any state."""

from __future__ import annotations

import warnings
from typing import Any

from confluent_kafka import KafkaException

from workloads.config.stuck_client import ClientStuck, call_with_timeout

STUCK_SECONDS = 20.0
"""Seconds after which a call with a time-out of 1 s counts as stuck, and its client is given up."""


def flush(client: Any, seconds: float) -> int:
    """Deliver what can be delivered within `seconds`; returns the number of records without a report.

    A client with a fatal error refuses to flush (it raises that error again): then the reports that it has
    are served, and the rest will never be delivered.
    """
    try:
        left: int = client.flush(seconds)
    except KafkaException:
        while client.poll(0):
            pass
        return 0
    return left


def purge(client: Any) -> None:
    """Give up what a client has not delivered and serve the reports of it, without closing the client."""
    client.purge(in_queue=True, in_flight=True, blocking=True)
    # After the purge no record waits for a broker.
    flush(client, 1.0)


def purge_and_close(client: Any) -> None:
    """As `abandon`, and then close the client. If close() does not return, this is logged and the client
    left."""
    purge(client)
    try:
        call_with_timeout(STUCK_SECONDS, lambda: _close(client), "close")
    except ClientStuck:
        return


def _close(client: Any) -> None:
    with warnings.catch_warnings():
        # close() aborts an open transaction and warns if it cannot; the outcome is journaled already.
        warnings.filterwarnings(
            "ignore", message="Producer abort_transaction failed", category=RuntimeWarning
        )
        client.close()
