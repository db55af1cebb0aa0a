"""Selects the next schedule: drawn by the menu's weights, and then by how much new it would cover.

There is to cover: each fault in each phase, pairs of faults, and each fault under each level.

Pure, and the same for the same seed and the same runs so far: `CANDIDATES` schedules are drawn by weight; one
of them is then drawn in proportion to its novelty, per second that it takes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from faults.targets.target_context import ClusterShape
from harness.lab.explore.menu import ExploreMenu, MenuFault, seconds_of
from harness.lab.explore.phases import ADDITIONAL, ClusterPhase
from harness.lab.explore.result import CoverageResult, Covered, TrialRun
from harness.lab.explore.trial import GRID, Trial, TrialFault
from harness.many.run_time import PER_RUN
from harness.model.errors import KafkaChaosError
from harness.spec.cluster import PROFILES, SESSION_SECONDS
from harness.spec.cluster_shape import shape_of

CANDIDATES = 24
_TRIES = 40
"""Draws per candidate before it is given up. Each level and each fault is possible alone."""
FIRST_AT = 2.0
"""Seconds of writing before the first fault."""
_APART = 4.0
"""Seconds from the end of a fault until the same one begins again: what it changed has been changed back."""
KNOWN = 0.05
"""Factor of the novelty of a schedule that includes a violation that is already known."""
SIMILAR = 0.4
"""The same if it has only the settings of one: they are likely to be the cause again."""
_LAG_SECONDS = 30.0
_FAULT_COUNTS = (0.35, 0.45, 0.2)
"""Probability that a schedule has one fault, two, three (or more)."""


@dataclass(slots=True)
class Coverage:
    """How often a fault hit a phase, two faults (in alphabetical order) were in one run, and a fault was
    under the level of a setting. `missed`: a fault was aimed at that phase and did not hit it."""

    phases: Counter[tuple[str, ClusterPhase]] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    levels: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    missed: Counter[tuple[str, ClusterPhase]] = field(default_factory=Counter)

    def add(self, menu: ExploreMenu, run: TrialRun) -> None:
        """Count a run. Only faults that were shown to take effect count."""
        hit = {fault.place: fault for fault in run.seen if fault.verified}
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
            levels=tuple(Covered(what=level, times=self.levels[level]) for level in all_levels(menu, names)),
        )


def pairs_of(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of faults in one run, each once."""
    yield from {(min(pair), max(pair)) for pair in combinations(names, 2)}


def all_phases(menu: ExploreMenu, names: Sequence[str]) -> tuple[tuple[str, ClusterPhase], ...]:
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


def all_pairs(menu: ExploreMenu, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    if menu.most_faults == 1:
        return ()
    return tuple(
        (min(name, other), max(name, other)) for number, name in enumerate(names) for other in names[number:]
    )


def all_levels(menu: ExploreMenu, names: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (name, axis, label) for name in names for axis, levels in menu.settings.items() for label in levels
    )


@dataclass(frozen=True, slots=True)
class DrawnTrial:
    """A schedule, and the phase that each of its faults is aimed at."""

    trial: Trial
    aims: tuple[ClusterPhase, ...] = ()


def choose(
    menu: ExploreMenu, names: Sequence[str], coverage: Coverage, known: Sequence[Trial], seed: str
) -> DrawnTrial:
    """The schedule of the next run, whose `seed` it is. `names` are the faults that are possible on this
    machine, `known` the minimal schedules of violations found before.

    Raises:
        KafkaChaosError: no schedule of the menu is possible.
    """
    rng = random.Random(seed)
    candidates = [drawn for _ in range(CANDIDATES) if (drawn := draw(menu, names, rng)) is not None]
    if not candidates:
        raise KafkaChaosError(
            "no schedule of the menu is possible",
            where=menu.name,
            found=f"{CANDIDATES * _TRIES} draws, all refused",
            next_step="allow fewer faults at once, or settings that go together",
        )
    weights = [
        novelty(menu, candidate, coverage, known) / (PER_RUN + seconds_of(menu, candidate.trial))
        for candidate in candidates
    ]
    return rng.choices(candidates, weights)[0]


def draw(menu: ExploreMenu, names: Sequence[str], rng: random.Random) -> DrawnTrial | None:
    """One schedule, by weight alone; None: only impossible ones were drawn."""
    drawn = (_draw(menu, names, rng) for _ in range(_TRIES))
    return next((schedule for schedule in drawn if menu.why_impossible(schedule.trial) is None), None)


def _draw(menu: ExploreMenu, names: Sequence[str], rng: random.Random) -> DrawnTrial:
    settings = {}
    for axis, levels in menu.settings.items():
        label = rng.choices(list(levels), [level.weight for level in levels.values()])[0]
        if label != menu.default_of(axis):
            settings[axis] = label
    most = min(menu.most_faults, len(_FAULT_COUNTS))
    count = rng.choices(range(1, most + 1), _FAULT_COUNTS[:most])[0]
    if count == most and menu.most_faults > most:
        count = rng.randint(most, menu.most_faults)
    pool = [menu.fault(name) for name in names]
    planned: list[TrialFault] = []
    aims: list[ClusterPhase] = []
    shape = shape_of(menu.cluster, menu.topic)
    for _ in range(count):
        fault = rng.choices(pool, [option.weight for option in pool])[0]
        lasting = _grid(rng.uniform(*fault.lasting))
        if not planned:
            planned.append(TrialFault(name=fault.name, at=FIRST_AT, lasting=lasting))
            aims.append(ClusterPhase.STEADY)
            continue
        aim, at = _aimed(menu, rng, planned[-1])
        if aim is ClusterPhase.ISR_SHRUNK and at >= planned[-1].end:
            # The fault that shrinks the ISR must last that long.
            planned[-1] = planned[-1].model_copy(update={"lasting": at - planned[-1].at + 2.0})
        if (free := _free_from(menu, fault, planned, shape)) > at:
            aim, at = ClusterPhase.STEADY, free
        planned.append(TrialFault(name=fault.name, at=at, lasting=lasting))
        aims.append(aim)
    trial = Trial(settings=settings, faults=tuple(planned), rate=rng.choice(menu.rates))
    return DrawnTrial(trial, tuple(aims))


def _free_from(
    menu: ExploreMenu, fault: MenuFault, planned: Sequence[TrialFault], shape: ClusterShape
) -> float:
    """When no planned fault is in its way any more. The same fault is: the second one has nothing left to do,
    and would not be shown to take effect, unless it takes down brokers, which are others then. So is a fault
    that restores the same thing, because each would undo what the other one did."""
    restores = fault.fault.restores
    again = not fault.fault.max_brokers_down(shape)
    ends = [
        earlier.end + _APART
        for earlier in planned
        if (again and earlier.name == fault.name)
        or (restores is not None and menu.fault(earlier.name).fault.restores == restores)
    ]
    return max(ends, default=0.0)


def _aimed(menu: ExploreMenu, rng: random.Random, before: TrialFault) -> tuple[ClusterPhase, float]:
    """A phase for a fault that follows another one, and when the cluster is expected to be in it."""
    session = SESSION_SECONDS[menu.cluster.profile]
    lag = _lag_seconds(menu)
    aim = rng.choice(
        (ClusterPhase.ELECTING, ClusterPhase.ISR_SHRUNK, ClusterPhase.RECOVERING, ClusterPhase.STEADY)
    )
    if aim is ClusterPhase.ELECTING:
        return aim, _grid(before.at + rng.uniform(0.5, session * 0.9))
    if aim is ClusterPhase.ISR_SHRUNK:
        # A follower that lags leaves between one and one and a half times replica.lag.time.max.ms.
        return aim, _grid(before.at + lag * 1.5 + rng.uniform(0.0, 2.0))
    if aim is ClusterPhase.RECOVERING:
        return aim, _grid(before.end + rng.uniform(0.0, 1.5))
    return aim, _grid(before.end + lag)


def novelty(menu: ExploreMenu, drawn: DrawnTrial, coverage: Coverage, known: Sequence[Trial]) -> float:
    """The novelty of a schedule: how much it would cover that is not covered yet."""
    trial = drawn.trial
    names = [fault.name for fault in trial.faults]
    total = 0.0
    for name, aim in zip(names, drawn.aims, strict=True):
        # A missed phase counts as covered, so that it is not aimed at forever.
        total += _fresh(coverage.phases[name, aim] + coverage.missed[name, aim])
        levels = [_fresh(coverage.levels[name, axis, label]) for axis, label in menu.labels(trial.settings)]
        total += sum(levels) / len(levels) if levels else 0.0
    total += sum(_fresh(coverage.pairs[pair]) for pair in pairs_of(names))
    if any(trial.holds(schedule) for schedule in known):
        return total * KNOWN
    similar = any(schedule.settings and trial.holds(Trial(settings=schedule.settings)) for schedule in known)
    return total * (SIMILAR if similar else 1.0)


def _fresh(times: int) -> float:
    return 1.0 / (1 + times) ** 2


def _lag_seconds(menu: ExploreMenu) -> float:
    lag = {**PROFILES[menu.cluster.profile], **menu.cluster.properties}.get("replica.lag.time.max.ms")
    return float(lag) / 1000 if lag is not None else _LAG_SECONDS


def _grid(seconds: float) -> float:
    return max(GRID, round(seconds / GRID) * GRID)
