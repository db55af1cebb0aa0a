"""Waiting with a deadline that ends in an error which says what was waited for and what was seen last."""

from __future__ import annotations

from collections.abc import Callable

from harness.model.errors import ClusterError
from harness.model.waiting import seen_within


def wait_until(
    missing: Callable[[], str | None],
    *,
    what: str,
    seconds: float,
    every: float = 0.1,
    next_step: str | None = None,
) -> None:
    """Call `missing` until it returns None; any text it returns says what is still missing.

    Raises:
        ClusterError: `seconds` have passed; `found` is the last text.
    """
    last = seen_within(seconds, missing, every)
    if last is not None:
        waited = f"waited {round(seconds, 3):g} s in vain"
        raise ClusterError(waited, expected=what, found=last, next_step=next_step)
