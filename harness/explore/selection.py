"""Selects the next schedule: drawn by the menu's weights, and then by how much new it would cover.

Pure, and the same for the same seed and the same runs so far: `CANDIDATES` schedules are drawn by weight; one
of them is then drawn in proportion to its novelty, per second that it takes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from harness.campaign.run_time import PER_RUN
from harness.explore.coverage import Coverage, pairs_of
from harness.explore.menu import ExploreMenu, experiment_of, seconds_of
from harness.explore.phases import ClusterPhase
from harness.explore.trial import GRID, Trial, TrialFault
from harness.model.errors import KafkaChaosError
from harness.spec.cluster import PROFILES, SESSION_SECONDS

CANDIDATES = 24
_TRIES = 40
"""Draws per candidate before it is given up. Each level and each fault is possible alone."""
FIRST_AT = 2.0
"""Seconds of writing before the first fault."""
KNOWN = 0.05
"""Factor of the novelty of a schedule that includes a violation that is already known."""
SIMILAR = 0.4
"""The same if it has only the settings of one: they are likely to be the cause again."""
_LAG_SECONDS = 30.0
_FAULT_COUNTS = (0.35, 0.45, 0.2)
"""Probability that a schedule has one fault, two, three (or more)."""


@dataclass(frozen=True, slots=True)
class DrawnTrial:
    """A schedule, and the phase that each of its faults is aimed at."""

    trial: Trial
    aims: tuple[ClusterPhase, ...]


def choose(
    menu: ExploreMenu,
    names: Sequence[str],
    coverage: Coverage,
    known: Sequence[Trial],
    seed: int,
    number: int,
) -> DrawnTrial:
    """The schedule of run `number`. `names` are the faults that are possible on this machine, `known` the
    minimal schedules of violations found before.

    Raises:
        KafkaChaosError: no schedule of the menu is possible.
    """
    rng = random.Random(f"{seed}/{number}")
    candidates = [drawn for _ in range(CANDIDATES) if (drawn := draw(menu, names, rng)) is not None]
    if not candidates:
        raise KafkaChaosError(
            "no schedule of the menu is possible",
            where=menu.name,
            found=f"{CANDIDATES * _TRIES} draws, all refused",
            next_step="allow fewer faults at once, or settings that go together",
        )
    weights = [novelty(menu, one, coverage, known) / _cost(menu, one.trial) for one in candidates]
    return rng.choices(candidates, weights)[0]


def draw(menu: ExploreMenu, names: Sequence[str], rng: random.Random) -> DrawnTrial | None:
    """One schedule, by weight alone; None: only impossible ones were drawn."""
    for _ in range(_TRIES):
        drawn = _draw(menu, names, rng)
        try:
            experiment_of(menu, drawn.trial)
        except (ValidationError, ValueError):
            continue
        return drawn
    return None


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
    for _ in range(count):
        fault = rng.choices(pool, [one.weight for one in pool])[0]
        lasting = _grid(rng.uniform(*fault.lasting))
        if not planned:
            planned.append(TrialFault(name=fault.name, at=FIRST_AT, lasting=lasting))
            aims.append(ClusterPhase.STEADY)
            continue
        aim, at = _aimed(menu, rng, planned[-1])
        if aim is ClusterPhase.ISR_SHRUNK and at >= planned[-1].end:
            # The fault that shrinks the ISR must last that long.
            planned[-1] = planned[-1].model_copy(update={"lasting": at - planned[-1].at + 2.0})
        planned.append(TrialFault(name=fault.name, at=at, lasting=lasting))
        aims.append(aim)
    trial = Trial(settings=settings, faults=tuple(planned), rate=rng.choice(menu.rates))
    return DrawnTrial(trial, tuple(aims))


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
    found = 0.0
    for name, aim in zip(names, drawn.aims, strict=True):
        # A missed phase counts as covered, so that it is not aimed at forever.
        found += _fresh(coverage.phases[name, aim] + coverage.missed[name, aim])
        levels = [_fresh(coverage.levels[name, axis, label]) for axis, label in menu.labels(trial.settings)]
        found += sum(levels) / len(levels) if levels else 0.0
    found += sum(_fresh(coverage.pairs[pair]) for pair in pairs_of(names))
    if any(trial.holds(one) for one in known):
        return found * KNOWN
    similar = any(one.settings and trial.holds(Trial(settings=one.settings)) for one in known)
    return found * (SIMILAR if similar else 1.0)


def _fresh(times: int) -> float:
    return 1.0 / (1 + times) ** 2


def _cost(menu: ExploreMenu, trial: Trial) -> float:
    """Estimated seconds of its run."""
    return PER_RUN + seconds_of(menu, trial)


def _lag_seconds(menu: ExploreMenu) -> float:
    lag = {**PROFILES[menu.cluster.profile], **menu.cluster.properties}.get("replica.lag.time.max.ms")
    return float(lag) / 1000 if lag is not None else _LAG_SECONDS


def _grid(seconds: float) -> float:
    return max(GRID, round(seconds / GRID) * GRID)
