"""Waiting for an effect to be seen."""

from __future__ import annotations

from collections.abc import Callable

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed


def seen_within(seconds: float, missing: Callable[[], str | None], every: float = 0.1) -> str | None:
    """Call `missing` until it returns None; after `seconds` return its last word instead."""
    retrying = Retrying(
        stop=stop_after_delay(seconds),
        wait=wait_fixed(every),
        retry=retry_if_result(lambda text: text is not None),
    )
    try:
        retrying(missing)
    except RetryError as error:
        return str(error.last_attempt.result())
    return None
