"""A schedule that is drawn from a menu, as data: levels of settings, and faults with their times."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from harness.model.frozen import Frozen

GRID = 0.5
"""Seconds: times and durations are multiples of it, so that shrinking them comes to an end."""


class TrialFault(Frozen):
    """A fault of the menu (by its name) injected `at` seconds after writing began, for `lasting` seconds."""

    name: str
    at: float = Field(ge=0)
    lasting: float = Field(gt=0)

    @property
    def end(self) -> float:
        return self.at + self.lasting


class Trial(Frozen):
    """A schedule. `settings` has the level of each setting that is not at its default; `rate` is in records/s
    (0: the menu's first); `rest` is how many seconds are written after the last fault (None: the menu's)."""

    settings: dict[str, str] = {}
    faults: tuple[TrialFault, ...] = ()
    rate: int = Field(default=0, ge=0)
    rest: float | None = None

    def __hash__(self) -> int:
        return hash((frozenset(self.settings.items()), self.faults, self.rate, self.rest))

    def __str__(self) -> str:
        faults = ", ".join(f"{fault.name} at {fault.at:g} s for {fault.lasting:g} s" for fault in self.faults)
        return f"{describe_settings(self.settings)}: {faults or 'no fault'}"

    def holds(self, other: Trial) -> bool:
        """Whether this schedule includes another: its settings, and each of its faults at least as often."""
        mine = [fault.name for fault in self.faults]
        theirs = [fault.name for fault in other.faults]
        return all(self.settings.get(axis) == label for axis, label in other.settings.items()) and all(
            mine.count(name) >= theirs.count(name) for name in theirs
        )


def describe_settings(settings: Mapping[str, str]) -> str:
    """`acks=1, min-isr=1`."""
    return ", ".join(f"{axis}={label}" for axis, label in settings.items()) or "defaults"
