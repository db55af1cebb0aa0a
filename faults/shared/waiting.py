"""What faults wait for, and acting on several nodes at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from faults.shared.base import Evidence
from harness.model.errors import FaultError
from harness.model.polling import poll_within

T = TypeVar("T")


def evidence_within(seconds: float, measure: Callable[[], Evidence], pause: float = 0.0) -> Evidence:
    """Measure until the effect is seen, for at most `seconds`; returns the last evidence. A busy machine may
    spoil one measurement."""
    deadline = time.monotonic() + seconds
    while True:
        evidence = measure()
        if evidence.seen or time.monotonic() > deadline:
            return evidence
        time.sleep(pause)


def await_or_fail(
    seconds: float,
    missing: Callable[[], str | None],
    problem: str,
    *,
    where: str,
    expected: str | None = None,
    next_step: str | None = None,
    every: float = 0.1,
) -> None:
    """Call `missing` until it returns None; any text it returns says what is still missing.

    Raises:
        FaultError: `problem`, when `seconds` have passed; it adds the time limit to `expected`.
    """
    left = poll_within(seconds, missing, every)
    if left is not None:
        limit = f"{expected} within {seconds:g} s" if expected else None
        raise FaultError(problem, where=where, expected=limit, found=left, next_step=next_step)


def in_parallel(nodes: Iterable[int], act: Callable[[int], T]) -> dict[int, T]:
    """`act` on all nodes at once; the first error is raised when all are done."""
    wanted = tuple(nodes)
    with ThreadPoolExecutor(max_workers=len(wanted) or 1) as pool:
        futures = {node: pool.submit(act, node) for node in wanted}
    return {node: future.result() for node, future in futures.items()}
