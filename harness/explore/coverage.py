"""What has been covered: each fault in each phase, pairs of faults, and each fault under each level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from harness.explore.menu import ExploreMenu
from harness.explore.phases import ADDITIONAL, ClusterPhase
from harness.explore.result import CoverageResult, Covered, TrialRun

FaultInPhase = tuple[str, ClusterPhase]
"""A fault of the menu (with its target) and a phase."""
Pair = tuple[str, str]
"""Two faults of one run, in alphabetical order."""
FaultAtLevel = tuple[str, str, str]
"""A fault, a setting, and its level."""


@dataclass(slots=True)
class Coverage:
    """How often each item was covered. `missed`: a fault was aimed at that phase and did not hit it."""

    phases: Counter[FaultInPhase] = field(default_factory=Counter)
    pairs: Counter[Pair] = field(default_factory=Counter)
    levels: Counter[FaultAtLevel] = field(default_factory=Counter)
    missed: Counter[FaultInPhase] = field(default_factory=Counter)

    def add(self, menu: ExploreMenu, run: TrialRun) -> None:
        """Count a run. Only faults that were shown to take effect count."""
        hit = {one.place: one for one in run.seen if one.verified}
        names = {number: run.trial.faults[number].name for number in hit if number < len(run.trial.faults)}
        for number, name in names.items():
            for phase in hit[number].phases:
                self.phases[name, phase] += 1
            for axis, label in menu.labels(run.trial.settings):
                self.levels[name, axis, label] += 1
        for pair in pairs_of(list(names.values())):
            self.pairs[pair] += 1
        for number, (fault, aim) in enumerate(zip(run.trial.faults, run.aims, strict=False)):
            if number not in hit or aim not in hit[number].phases:
                self.missed[fault.name, aim] += 1

    def result(self, menu: ExploreMenu, left_out: Collection[str] = ()) -> CoverageResult:
        """Everything that can be covered, in the menu's order, with how often it was."""
        names = [fault.name for fault in menu.faults if fault.name not in left_out]
        return CoverageResult(
            phases=tuple(
                Covered(what=(name, phase.value), times=self.phases[name, phase])
                for name, phase in all_phases(menu, names)
            ),
            pairs=tuple(Covered(what=pair, times=self.pairs[pair]) for pair in all_pairs(menu, names)),
            levels=tuple(Covered(what=one, times=self.levels[one]) for one in all_levels(menu, names)),
        )


def pairs_of(names: Sequence[str]) -> Iterator[Pair]:
    """Pairs of faults in one run, each once."""
    yield from {(min(pair), max(pair)) for pair in combinations(names, 2)}


def all_phases(menu: ExploreMenu, names: Sequence[str]) -> tuple[FaultInPhase, ...]:
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


def all_levels(menu: ExploreMenu, names: Sequence[str]) -> tuple[FaultAtLevel, ...]:
    return tuple(
        (name, axis, label) for name in names for axis, levels in menu.settings.items() for label in levels
    )
