"""What faults wait for, and acting on several nodes at once."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar

from faults.shared.fault_spec import Evidence, Injection, InjectionContext
from harness.model.errors import FaultError
from harness.model.polling import poll_within

T = TypeVar("T")


class Measured(Injection):
    """An injection whose effect is measured until it is seen, for at most `proof_seconds`, with a pause of
    `proof_pause` seconds after each measurement."""

    proof_seconds: ClassVar[float] = 6.0
    proof_pause: ClassVar[float] = 0.0

    def verify(self, context: InjectionContext) -> Evidence:
        return evidence_within(self.proof_seconds, lambda: self.measure(context), self.proof_pause)

    @abstractmethod
    def measure(self, context: InjectionContext) -> Evidence:
        """Measure once."""


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
