"""Poll until a condition holds, with a deadline and an error that says what was still missing."""

from __future__ import annotations

from collections.abc import Callable

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from harness.model.errors import ClusterError


def poll_within(seconds: float, missing: Callable[[], str | None], every: float = 0.1) -> str | None:
    """Call `missing` every `every` seconds until it returns None; after `seconds` return its last answer."""
    still_missing = retry_if_result(lambda text: text is not None)
    try:
        Retrying(stop=stop_after_delay(seconds), wait=wait_fixed(every), retry=still_missing)(missing)
    except RetryError as error:
        return str(error.last_attempt.result())
    return None


def wait_until(
    missing: Callable[[], str | None],
    *,
    what: str,
    seconds: float,
    every: float = 0.1,
    next_step: str | None = None,
) -> None:
    """Call `missing` until it returns None; a text that it returns says what is still missing.

    Raises:
        ClusterError: it timed out after `seconds`; `found` is the last text.
    """
    last = poll_within(seconds, missing, every)
    if last is not None:
        timed_out = f"timed out after {round(seconds, 3):g} s"
        raise ClusterError(timed_out, expected=what, found=last, next_step=next_step)
