"""What has been covered: each fault in each phase, pairs of faults, and each fault under each level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

from harness.explore.menu import ExploreMenu
from harness.explore.phases import ADDITIONAL, ClusterPhase, ObservedFault
from harness.explore.trial import Trial

CoverageCell = tuple[str, ClusterPhase]
"""A fault of the menu (with its target) and a phase."""
Pair = tuple[str, str]
"""Two faults of one run, the one that is earlier in the alphabet first."""
Under = tuple[str, str, str]
"""A fault, a setting, and its level."""


class CompletedTrial(Protocol):
    """A completed run; `aims` has the phase that each fault was aimed at."""

    @property
    def trial(self) -> Trial: ...

    @property
    def aims(self) -> tuple[ClusterPhase, ...]: ...

    @property
    def seen(self) -> tuple[ObservedFault, ...]: ...


@dataclass(slots=True)
class Coverage:
    """How often each item was covered. `missed`: a fault was aimed at that phase and did not hit it."""

    cells: Counter[CoverageCell] = field(default_factory=Counter)
    pairs: Counter[Pair] = field(default_factory=Counter)
    under: Counter[Under] = field(default_factory=Counter)
    missed: Counter[CoverageCell] = field(default_factory=Counter)

    @classmethod
    def of(cls, menu: ExploreMenu, runs: Iterable[CompletedTrial]) -> Coverage:
        """Only faults that were shown to take effect count."""
        found = cls()
        for run in runs:
            found.add(menu, run)
        return found

    def add(self, menu: ExploreMenu, run: CompletedTrial) -> None:
        hit = {one.place: one for one in run.seen if one.verified}
        names = {place: run.trial.faults[place].name for place in hit if place < len(run.trial.faults)}
        for place, name in names.items():
            for phase in hit[place].phases:
                self.cells[name, phase] += 1
            for axis, label in levels_of(menu, run.trial):
                self.under[name, axis, label] += 1
        for pair in pairs_of(list(names.values())):
            self.pairs[pair] += 1
        for place, (fault, aim) in enumerate(zip(run.trial.faults, run.aims, strict=False)):
            if place not in hit or aim not in hit[place].phases:
                self.missed[fault.name, aim] += 1


def levels_of(menu: ExploreMenu, trial: Trial) -> Iterator[tuple[str, str]]:
    """The level of every setting, defaults too."""
    for axis in menu.settings:
        yield axis, trial.settings.get(axis, menu.default_of(axis))


def pairs_of(names: Sequence[str]) -> Iterator[Pair]:
    """Pairs of faults in one run, each once."""
    yield from {(min(pair), max(pair)) for pair in combinations(names, 2)}


def all_cells(menu: ExploreMenu, names: Sequence[str]) -> tuple[CoverageCell, ...]:
    """Every fault in every phase that the menu makes possible: without transactions none is open, without
    groups none rebalances, and coordinators are asked about consumer groups only."""
    transactional = menu.workload.transactional or any(
        level.workload.get("transactions") for levels in menu.settings.values() for level in levels.values()
    )
    impossible = set() if transactional else {ClusterPhase.TRANSACTION_OPEN}
    if not menu.grouped:
        impossible |= {ClusterPhase.COORDINATOR_MOVING}
    if not menu.grouped and not menu.share:
        impossible |= {ClusterPhase.REBALANCING}
    phases = [phase for phase in ClusterPhase if phase not in impossible]
    if menu.most_faults == 1:
        phases = [phase for phase in phases if phase in (ClusterPhase.STEADY, *ADDITIONAL)]
    return tuple((name, phase) for name in names for phase in phases)


def all_pairs(menu: ExploreMenu, names: Sequence[str]) -> tuple[Pair, ...]:
    if menu.most_faults == 1:
        return ()
    return tuple((min(one, two), max(one, two)) for number, one in enumerate(names) for two in names[number:])


def all_under(menu: ExploreMenu, names: Sequence[str]) -> tuple[Under, ...]:
    return tuple(
        (name, axis, label) for name in names for axis, levels in menu.settings.items() for label in levels
    )
