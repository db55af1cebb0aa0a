"""From the options of `kafka-chaos explore` to what is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.campaign.run_time import run_seconds, told
from harness.explore import menu as menus
from harness.explore.backend import DockerExploreBackend, ExploreBackend
from harness.explore.budget import DEFAULT_SECONDS, SHRINK_SHARE, ExploreBudget, parse_confirm, parse_seconds
from harness.explore.coverage import Coverage, all_cells, all_pairs, all_under
from harness.explore.explorer import Exploration, ExplorationInput
from harness.explore.menu import ExploreMenu, experiment_of
from harness.explore.result import ExploreResult, load_result
from harness.explore.selection import choose
from harness.explore.shrinking import Confirm
from harness.explore.store import ExploreStore
from harness.model.errors import BadInput
from harness.model.secrets import masked_at
from harness.spec.cluster import ClusterSpec
from harness.spec.overrides import override_cluster


@dataclass(frozen=True, slots=True)
class ExploreOptions:
    """The options as given; None: not given."""

    menu: Path | None = None
    budget: str | None = None
    runs: int | None = None
    seed: int | None = None
    confirm: str | None = None
    share: float | None = None
    version: str | None = None
    image: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class ExplorationPlan:
    """What would be explored. `before` is what an earlier process left of it."""

    menu: ExploreMenu
    seed: int
    confirm: Confirm
    budget: ExploreBudget
    before: ExploreResult | None = None

    def lines(self) -> list[str]:
        """For people: what there is to cover, what the first schedules would be, how long it takes."""
        menu = self.menu
        names = [fault.name for fault in menu.faults]
        drawn = [choose(menu, names, Coverage(), (), self.seed, number).trial for number in range(1, 6)]
        seconds = sum(run_seconds(experiment_of(menu, trial)) for trial in drawn) / len(drawn)
        budget = self.budget
        length = (
            f"{budget.runs} runs"
            if budget.seconds is None
            else f"{told(budget.seconds)}, about {max(1, round(budget.seconds / seconds))} runs"
        )
        return [
            f"{menu.name}: {menu.title}",
            f"  to cover: {len(all_cells(menu, names))} of fault and phase, "
            f"{len(all_pairs(menu, names))} pairs of faults, "
            f"{len(all_under(menu, names))} of fault and setting",
            f"  the first run: {drawn[0]}",
            f"seed {self.seed}: {length}, {budget.share:.0%} of it at most for shrinking "
            f"(a schedule fails when {self.confirm.k} of {self.confirm.n} runs do)",
        ]


def planned(asked: ExploreOptions, resume: Path | None, seed: int) -> ExplorationPlan:
    """What the options ask for; `seed` is taken where none was given.

    Raises:
        BadInput: a bad menu or option, or another exploration than the folder's.
        JournalError: no such folder to resume, or one of another version.
    """
    if asked.budget is not None and asked.runs is not None:
        raise BadInput(
            "the budget is given twice",
            expected="--budget TIME or --runs N",
            found=f"--budget {asked.budget} and --runs {asked.runs}",
            next_step="leave one out",
        )
    if resume is None:
        menu = _on(menus.load(asked.menu), asked)
        share = SHRINK_SHARE if asked.share is None else asked.share
        seconds = DEFAULT_SECONDS if asked.budget is None else parse_seconds(asked.budget)
        budget = ExploreBudget(None if asked.runs else seconds, asked.runs, share)
        confirm = Confirm() if asked.confirm is None else parse_confirm(asked.confirm)
        return ExplorationPlan(menu, seed if asked.seed is None else asked.seed, confirm, budget)
    before = load_result(resume)
    _same(asked, before, resume)
    place = masked_at(before.menu)
    if place is not None:
        raise BadInput(
            "secrets of this menu are not in its folder",
            where=f"{resume}: {place}",
            expected="a menu without secrets: an exploration goes on with the menu in its folder",
            next_step="begin a new exploration with `--menu FILE`",
        )
    seconds_before, runs_before = before.budget_seconds, before.budget_runs
    if asked.budget is not None:
        seconds_before, runs_before = parse_seconds(asked.budget), None
    elif asked.runs is not None:
        seconds_before, runs_before = None, asked.runs
    budget = ExploreBudget(
        seconds_before, runs_before, before.shrink_share if asked.share is None else asked.share
    )
    return ExplorationPlan(before.parsed_menu(), before.seed, parse_confirm(before.confirm), budget, before)


def _same(asked: ExploreOptions, before: ExploreResult, resume: Path) -> None:
    """Refuse to go on with something else than was begun."""
    if asked.version or asked.image or asked.profile:
        what = "--kafka-version, --image and --profile cannot change in the middle"
    elif asked.seed is not None and asked.seed != before.seed:
        what = f"it was begun with --seed {before.seed}"
    elif asked.confirm is not None and str(parse_confirm(asked.confirm)) != before.confirm:
        what = f"it was begun with --confirm {before.confirm}"
    elif asked.menu is not None:
        what = "the menu is the one in the folder: leave --menu out"
    else:
        return
    raise BadInput(
        "this is another exploration than the one in the folder",
        where=str(resume),
        found=what,
        next_step="leave that out, or begin a new exploration without --resume",
    )


def _on(menu: ExploreMenu, asked: ExploreOptions) -> ExploreMenu:
    """The menu on another version, image or profile."""
    before = menu.cluster.model_dump(exclude_unset=True)
    fields = override_cluster(before, asked.version, asked.image, asked.profile, where=menu.name)
    if fields == before:
        return menu
    return menu.model_copy(update={"cluster": ClusterSpec.model_validate(fields)})


def executed(
    plan: ExplorationPlan,
    store: ExploreStore,
    command: str,
    rig: ExploreBackend | None = None,
) -> ExploreResult:
    """Explore; returns what result.json holds. Raises what `Exploration.execute` raises."""
    kept = plan.before.command if plan.before is not None else command
    given = ExplorationInput(plan.menu, store, plan.seed, plan.confirm, plan.budget, kept, plan.before)
    return Exploration(given, rig or DockerExploreBackend()).execute()
