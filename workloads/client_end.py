"""The end of a producer's client, whatever state it is in."""

from __future__ import annotations

import warnings
from typing import Any

from confluent_kafka import KafkaException


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


def bury(client: Any) -> None:
    """Give up what a client has not delivered, serve the reports of it, and close it."""
    client.purge(in_queue=True, in_flight=True, blocking=True)
    # Nothing of it waits for a broker any more.
    flush(client, 1.0)
    with warnings.catch_warnings():
        # close() aborts what is open, and warns where a dead client cannot: it is journaled already.
        warnings.filterwarnings(
            "ignore", message="Producer abort_transaction failed", category=RuntimeWarning
        )
        client.close()
