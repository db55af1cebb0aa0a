"""Makes a schedule that breaks a promise smaller, by trying smaller ones. Pure: the caller makes the runs.

Greedy delta debugging (Zeller and Hildebrandt, IEEE TSE 28, 2002): smaller variants of the failing schedule
are tried in turn, the largest reduction first; the first that still fails takes its place, until none does.
Every candidate is smaller by `size`, so it ends; in the end no single reduction fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.lab.explore.menu import ExploreMenu, rate_of
from harness.lab.explore.selection import FIRST_AT
from harness.lab.explore.trial import GRID, Trial, TrialFault

LEAST_RATE = 100
LEAST_SECONDS = 1.0
LEAST_AT = 1.0


def size(menu: ExploreMenu, trial: Trial) -> tuple[int, int, int, float]:
    """Faults, levels away from the defaults, records/s, seconds: none ever grows while shrinking."""
    away = sum(list(menu.settings[axis]).index(label) for axis, label in trial.settings.items())
    rest = menu.rest if trial.rest is None else trial.rest
    seconds = sum(fault.lasting + fault.at for fault in trial.faults) + rest
    return len(trial.faults), away, rate_of(menu, trial), seconds


def candidates(menu: ExploreMenu, trial: Trial) -> Iterator[Trial]:
    """Smaller schedules that are possible, the largest reduction first: fewer faults, settings back at their
    defaults, shorter windows, fewer records."""
    seen = {trial}
    for smaller in _smaller(menu, trial):
        if smaller not in seen and menu.why_impossible(smaller) is None:
            yield smaller
        seen.add(smaller)


def _smaller(menu: ExploreMenu, trial: Trial) -> Iterator[Trial]:
    faults = trial.faults
    for keep in range(1, len(faults)):
        for chosen in combinations(faults, keep):
            # The first one as early as a first one is.
            yield _with(trial, _earlier(chosen, max(0.0, chosen[0].at - FIRST_AT)))
    yield from _settings(menu, trial)
    yield from _windows(trial)
    rate = rate_of(menu, trial)
    for less in (LEAST_RATE, rate // 2):
        if LEAST_RATE <= less < rate:
            yield trial.model_copy(update={"rate": less})
    rest = menu.rest if trial.rest is None else trial.rest
    if rest > GRID:
        yield trial.model_copy(update={"rest": GRID})


def _settings(menu: ExploreMenu, trial: Trial) -> Iterator[Trial]:
    """All at their defaults, halves of them, each; then each one level nearer to it."""
    axes = list(trial.settings)
    chunk = len(axes)
    while chunk >= 1:
        for start in range(0, len(axes), chunk):
            dropped = axes[start : start + chunk]
            yield trial.model_copy(
                update={
                    "settings": {axis: label for axis, label in trial.settings.items() if axis not in dropped}
                }
            )
        chunk = (chunk + 1) // 2 if chunk > 1 else 0
    for axis, label in trial.settings.items():
        levels = list(menu.settings[axis])
        for nearer in levels[1 : levels.index(label)]:
            yield trial.model_copy(update={"settings": {**trial.settings, axis: nearer}})


def _windows(trial: Trial) -> Iterator[Trial]:
    """All windows at half, each at half, each a step shorter; and faults closer to each other."""
    faults = trial.faults
    halved = tuple(fault.model_copy(update={"lasting": _half(fault.lasting)}) for fault in faults)
    yield _with(trial, halved)
    for number, fault in enumerate(halved):
        yield _with(trial, (*faults[:number], fault, *faults[number + 1 :]))
    for number, fault in enumerate(faults):
        if number and fault.at - faults[number - 1].at > GRID:
            gap = fault.at - faults[number - 1].at
            moved = _earlier(faults[number:], gap - _half(gap, GRID))
            yield _with(trial, (*faults[:number], *moved))
    for number, fault in enumerate(faults):
        if fault.lasting - LEAST_SECONDS >= LEAST_SECONDS:
            shorter = fault.model_copy(update={"lasting": fault.lasting - LEAST_SECONDS})
            yield _with(trial, (*faults[:number], shorter, *faults[number + 1 :]))
    if faults and faults[0].at > LEAST_AT:
        yield _with(trial, _earlier(faults, faults[0].at - LEAST_AT))


def _with(trial: Trial, faults: Sequence[TrialFault]) -> Trial:
    return trial.model_copy(update={"faults": tuple(faults)})


def _earlier(faults: Sequence[TrialFault], by: float) -> tuple[TrialFault, ...]:
    return tuple(fault.model_copy(update={"at": fault.at - by}) for fault in faults)


def _half(seconds: float, least: float = LEAST_SECONDS) -> float:
    return max(min(seconds, least), round(seconds / 2 / GRID) * GRID)


@dataclass(frozen=True, slots=True)
class Confirm:
    """A schedule fails when `k` of `n` runs of it fail."""

    k: int = 2
    n: int = 3

    def __str__(self) -> str:
        return f"{self.k}/{self.n}"

    def answer(self, outcomes: Sequence[bool]) -> bool | None:
        """Whether it fails, by the runs so far; None: another run is needed."""
        failed = sum(outcomes)
        if failed >= self.k:
            return True
        return False if len(outcomes) - failed > self.n - self.k else None

    def needed(self, outcomes: Sequence[bool]) -> int:
        """How many more runs there must be at least before there is an answer."""
        failed = sum(outcomes)
        return min(self.k - failed, self.n - self.k + 1 - (len(outcomes) - failed))


class Shrinking:
    """One violation being shrunk: try the `candidate` and `record` whether it fails, until there is none."""

    def __init__(self, menu: ExploreMenu, trial: Trial) -> None:
        self._menu = menu
        self.minimal = trial
        self.tried = 0
        self._refuted: set[Trial] = set()
        self._left = candidates(menu, trial)
        self._now: Trial | None = None

    def candidate(self) -> Trial | None:
        """The next schedule to try; None: no smaller one is left."""
        if self._now is None:
            self._now = next((trial for trial in self._left if trial not in self._refuted), None)
        return self._now

    def record(self, fails: bool) -> None:
        """Record whether the candidate fails; if it does, it is shrunk from now on."""
        assert self._now is not None, "there is no candidate"
        self.tried += 1
        if fails:
            self.minimal = self._now
            self._left = candidates(self._menu, self._now)
        else:
            self._refuted.add(self._now)
        self._now = None
