"""When the faults of a schedule are expected to end, those that have to wait for each other too. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BACK_SECONDS = 8.0
"""From the end of a fault until the brokers that it took down are back in every ISR, measured with three
brokers on two cores; with much other work beside them up to twice as long."""

MORE_SECONDS = 60.0
"""For how long writing goes on where they take longer, so that faults that wait for them can begin: a fault
that never began makes the verdict unknown."""


@dataclass(frozen=True, slots=True)
class DueFault:
    """A fault due at `at` that takes effect after `takes` seconds, lasts for `lasting`, and has at most
    `downs` brokers down."""

    at: float
    lasting: float
    takes: float = 0.0
    downs: int = 0


def last_end(faults: Iterable[DueFault], most_down: int | None) -> float:
    """Seconds until the last of these faults has ended. As in a schedule, one that would have more than
    `most_down` brokers down waits until others are back, and is not overtaken by others of that kind."""
    end = turn = 0.0
    down: list[tuple[float, int]] = []
    for fault in sorted(faults, key=lambda due: due.at):
        begins = fault.at
        if fault.downs:
            begins = _free(down, max(fault.at, turn), fault.downs, most_down)
            turn = begins
            down.append((begins + fault.takes + fault.lasting + BACK_SECONDS, fault.downs))
        end = max(end, begins + fault.takes + fault.lasting)
    return end


def _free(down: list[tuple[float, int]], at: float, downs: int, most: int | None) -> float:
    """When, from `at` on, `downs` more brokers may go down; `down` has until when which number is down."""
    for until in sorted(until for until, _ in down if until > at):
        if most is None or downs + sum(count for over, count in down if over > at) <= most:
            break
        at = until
    return at
