"""From the options of `kafka-chaos explore` to the plan of an exploration, and its budget."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.lab.explore.menu import BUILT_IN, MENU, ExploreMenu, experiment_of
from harness.lab.explore.result import ExploreResult, TrialRun, load_result
from harness.lab.explore.selection import Coverage, all_levels, all_pairs, all_phases, choose
from harness.lab.explore.shrinking import Confirm
from harness.many.run_store import refuse_another
from harness.many.run_time import format_duration, run_seconds
from harness.model.errors import BadInput
from harness.model.secrets import masked_at
from harness.spec.cluster import ClusterSpec
from harness.spec.overrides import AS_WRITTEN, ClusterOptions, override_cluster

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
DEFAULT_SECONDS = 1200.0
SHRINK_SHARE = 0.6
_ONE_VIOLATION = 0.75
"""The share of the rest for shrinking that one violation may use: some is left for the next."""


@dataclass(frozen=True, slots=True)
class ExploreBudget:
    """`seconds` or `runs` (one is None), and at most `share` of it for shrinking."""

    seconds: float | None = None
    runs: int | None = None
    share: float = SHRINK_SHARE

    @property
    def whole(self) -> float:
        """In seconds or in runs."""
        return float(self.seconds if self.seconds is not None else self.runs or 0)

    def cost(self, runs: Iterable[TrialRun]) -> float:
        """What runs took of it, in its unit; time in which several went on counts once."""
        if self.runs is not None:
            return float(sum(1 for _ in runs))
        total = until = 0.0
        for began, seconds in sorted((run.started_ns / 1e9, run.seconds) for run in runs):
            total += max(0.0, began + seconds - max(began, until))
            until = max(until, began + seconds)
        return total

    def for_one(self, spent: float) -> float:
        """What the next violation may use, after what others `spent` on shrinking: of runs at least one."""
        return max(0.0 if self.runs is None else 1.0, (self.whole * self.share - spent) * _ONE_VIOLATION)


@dataclass(frozen=True, slots=True)
class ExploreOptions:
    """The options as given; None: not given."""

    menu: Path | None = None
    budget: str | None = None
    runs: int | None = None
    seed: int | None = None
    confirm: str | None = None
    share: float | None = None
    cluster: ClusterOptions = AS_WRITTEN
    clusters: int | None = None


@dataclass(frozen=True, slots=True)
class ExplorationPlan:
    """The plan of an exploration on `clusters` clusters side by side. `before` is the result so far of an
    earlier process; None: it is new."""

    menu: ExploreMenu
    seed: int
    confirm: Confirm
    budget: ExploreBudget
    before: ExploreResult | None = None
    clusters: int = 1

    @property
    def ahead(self) -> int:
        """How many runs are decided on and not kept yet: while one runs on each cluster, those before them
        are checked, and those after them wait for a cluster."""
        return 2 * self.clusters

    def lines(self) -> list[str]:
        """For people: what there is to cover, what the first schedules would be, how long it takes."""
        menu = self.menu
        names = [fault.name for fault in menu.faults]
        drawn = [choose(menu, names, Coverage(), (), f"{self.seed}/{number}").trial for number in range(1, 6)]
        seconds = sum(run_seconds(experiment_of(menu, trial)) for trial in drawn) / len(drawn)
        budget = self.budget
        length = f"{budget.runs} runs"
        if budget.seconds is not None:
            runs = max(1, round(budget.seconds / seconds * self.clusters))
            length = f"{format_duration(budget.seconds)}, up to about {runs} runs"
        if self.clusters > 1:
            length += f" on {self.clusters} clusters"
        return [
            f"{menu.name}: {menu.title}",
            f"  to cover: {len(all_phases(menu, names))} of fault and phase, "
            f"{len(all_pairs(menu, names))} pairs of faults, "
            f"{len(all_levels(menu, names))} of fault and setting",
            f"  the first run: {drawn[0]}",
            f"seed {self.seed}: {length}, {budget.share:.0%} of it at most for shrinking "
            f"(a schedule fails when {self.confirm.k} of {self.confirm.n} runs do)",
        ]


def plan_exploration(options: ExploreOptions, resume: Path | None, seed: int) -> ExplorationPlan:
    """The plan of a new exploration, or of the one in the folder `resume`; `seed` is the default.

    Raises:
        BadInput: a bad menu or option, or another exploration than the folder's.
        JournalError: no such folder to resume, or one of another version.
    """
    if options.budget is not None and options.runs is not None:
        raise BadInput(
            "the budget is given twice",
            expected="--budget TIME or --runs N",
            found=f"--budget {options.budget} and --runs {options.runs}",
            next_step="leave one out",
        )
    if resume is None:
        menu = _with_options(MENU.load(str(options.menu or BUILT_IN))[0], options.cluster)
        share = SHRINK_SHARE if options.share is None else options.share
        seconds = DEFAULT_SECONDS if options.budget is None else parse_seconds(options.budget)
        budget = ExploreBudget(None if options.runs else seconds, options.runs, share)
        confirm = Confirm() if options.confirm is None else parse_confirm(options.confirm)
        chosen = seed if options.seed is None else options.seed
        return ExplorationPlan(menu, chosen, confirm, budget, clusters=options.clusters or 1)
    before = load_result(resume)
    other = "the menu is the one in the folder: leave --menu out" if options.menu is not None else ""
    if options.confirm is not None and str(parse_confirm(options.confirm)) != before.confirm:
        other = f"it was begun with --confirm {before.confirm}"
    refuse_another("exploration", resume, (options.seed, before.seed), options.cluster, other)
    where = masked_at(before.menu)
    if where is not None:
        raise BadInput(
            "secrets of this menu are not in its folder",
            where=f"{resume}: {where}",
            expected="a menu without secrets: an exploration goes on with the menu in its folder",
            next_step="begin a new exploration with `--menu FILE`",
        )
    seconds_before, runs_before = before.budget_seconds, before.budget_runs
    if options.budget is not None:
        seconds_before, runs_before = parse_seconds(options.budget), None
    elif options.runs is not None:
        seconds_before, runs_before = None, options.runs
    budget = ExploreBudget(
        seconds_before, runs_before, before.shrink_share if options.share is None else options.share
    )
    return ExplorationPlan(
        before.parsed_menu(),
        before.seed,
        parse_confirm(before.confirm),
        budget,
        before,
        options.clusters or before.side_by_side,
    )


def _with_options(menu: ExploreMenu, options: ClusterOptions) -> ExploreMenu:
    before = menu.cluster.model_dump(exclude_unset=True)
    if not (options.given().keys() | before.keys()) & {"version", "image"}:
        # Written down, so that what is resumed or replayed later does not follow a newer default.
        options = replace(options, version=menu.cluster.version)
    fields = override_cluster(before, options, where=menu.name)
    if fields == before:
        return menu
    return menu.model_copy(update={"cluster": ClusterSpec.model_validate(fields)})


def parse_seconds(text: str) -> float:
    """Read `20m`, `90s`, `1h`, `1.5h`.

    Raises:
        BadInput: it is none of these.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip(), re.ASCII)
    if match is None or float(match[1]) == 0:
        raise BadInput(
            "the budget cannot be read",
            where="--budget",
            expected="a time like 20m, 90s or 1h",
            found=repr(text),
            next_step="`--runs N` counts runs instead",
        )
    return float(match[1]) * _UNITS[match[2]]


def parse_confirm(text: str) -> Confirm:
    """Read `2/3`: two of three runs must fail.

    Raises:
        BadInput: it is not K/N with 1 <= K <= N <= 20.
    """
    match = re.fullmatch(r"(\d{1,2})/(\d{1,2})", text.strip(), re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= 20:
        raise BadInput(
            "how often a schedule must fail cannot be read",
            where="--confirm",
            expected="K/N, such as 2/3: K of N runs fail, 1 <= K <= N <= 20",
            found=repr(text),
            next_step="correct --confirm, or leave it out",
        )
    return Confirm(int(match[1]), int(match[2]))
