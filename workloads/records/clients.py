"""Clients of confluent-kafka: where their own log lines go, calls that may never return, and their ends."""

from __future__ import annotations

import ctypes
import logging
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException

LOGGER_NAME = "kafka_chaos.client"
CLOSE_SECONDS = 120.0
"""Seconds for a consumer to close: its last commit may wait 60 s for a broker (socket.timeout.ms)."""
STUCK_SECONDS = 20.0
"""Seconds after which a call with a time-out of 1 s counts as stuck, and its client is given up."""
_log = logging.getLogger(LOGGER_NAME)
_clear = ctypes.PYFUNCTYPE(None)(("PyErr_Clear", ctypes.pythonapi))


class ClientStuck(Exception):
    """A call into the client did not return. The client cannot be closed either: that would wait for the
    call."""


def client_logger() -> logging.Logger:
    """The logger to hand to clients, so that their lines never go directly to the terminal; without a handler
    of the user's it is silent."""
    if not any(isinstance(handler, logging.NullHandler) for handler in _log.handlers):
        # Without this, logging's last resort would print warnings to stderr.
        _log.addHandler(logging.NullHandler())
    return _log


def call_with_timeout(seconds: float, work: Callable[[], Any], what: str) -> None:
    """As `call_until`, for at most `seconds`.

    librdkafka's send_offsets_to_transaction does not keep to its time-out (librdkafka issue 5456), and
    confluent-kafka's close() aborts and flushes without a limit.

    Raises:
        ClientStuck: it did not return within `seconds`; its thread is left running.
    """
    give_up = time.monotonic() + seconds
    call_until(lambda: give_up, work, what)


def call_until(give_up: Callable[[], float], work: Callable[[], Any], what: str) -> None:
    """Run `work` in a thread of its own and re-raise its exception. `give_up` tells the time.monotonic()
    until which it is waited for; it is asked every second, since a run that ends may bring that nearer.

    Raises:
        ClientStuck: it did not return until then; its thread is left running.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        # Kept for the caller, which waits for the thread.
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name=f"call-{what}", daemon=True)
    began = time.monotonic()
    thread.start()
    while thread.is_alive() and (left := give_up() - time.monotonic()) > 0:
        thread.join(min(left, 1.0))
    if thread.is_alive():
        waited = time.monotonic() - began
        _log.error("%s did not return within %.1f s: the client is given up", what, waited)
        raise ClientStuck(f"{what} did not return within {waited:.1f} s")
    if raised:
        raise raised[0]


def close_consumer(consumer: Any, name: str) -> None:
    """Close a consumer.

    librdkafka's close may not return. For a member of a group see `LiveReader._leave_group`.

    Raises:
        ClientStuck: it did not return within `CLOSE_SECONDS`; it is left as it is.
    """
    call_with_timeout(CLOSE_SECONDS, consumer.close, f"close of {name}")


def poll(client: Any, seconds: float) -> KafkaError | None:
    """Serve a producer's delivery reports for up to `seconds`.

    confluent-kafka raises a fatal error of the client in the poll that is next, instead of calling
    `error_cb`, and does so once. It is returned here: what follows from it the caller knows. Where a report
    is served behind it, the error is lost, and SystemError raised (docs/open-bugs.md).
    """
    try:
        client.poll(seconds)
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        if not cause.fatal():
            raise
        return cause
    except SystemError:
        return KafkaError(KafkaError._FATAL, "a fatal error, which confluent-kafka did not name", fatal=True)
    return None


def drop_pending_error() -> None:
    """The first call of every delivery callback.

    confluent-kafka calls the first callback behind a fatal error while that is set, so that some later call
    in it would fail with it, or with what that call makes of it (docs/open-bugs.md). `flush` and `poll` raise
    nevertheless when they return.
    """
    _clear()


def flush(client: Any, seconds: float) -> int:
    """Deliver what can be delivered within `seconds`; returns the number of records without a report.

    A client with a fatal error refuses to flush (it raises that error as `poll` does): then the reports that
    it has are served, and the rest will never be delivered.
    """
    try:
        return int(client.flush(seconds))
    except (KafkaException, SystemError):
        while client.poll(0):
            pass
        return 0


def purge(client: Any) -> None:
    """Give up what a client has not delivered and serve the reports of it, without closing the client."""
    client.purge(in_queue=True, in_flight=True, blocking=True)
    # After the purge no record waits for a broker.
    flush(client, 1.0)


def purge_and_close(client: Any) -> None:
    """As `purge`, and then close the client. If close() does not return, this is logged and the client
    left."""
    purge(client)
    with suppress(ClientStuck):
        call_with_timeout(STUCK_SECONDS, lambda: _close(client), "close")


def _close(client: Any) -> None:
    with warnings.catch_warnings():
        # close() aborts an open transaction and warns if it cannot; the outcome is journaled already.
        warnings.filterwarnings(
            "ignore", message="Producer abort_transaction failed", category=RuntimeWarning
        )
        client.close()
