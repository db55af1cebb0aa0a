"""Explorations on paper, without brokers, and a result of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from harness.lab.explore.explorer import Exploration
from harness.lab.explore.menu import BUILT_IN, MENU
from harness.lab.explore.plan import ExploreOptions, plan_exploration
from harness.lab.explore.result import ExploreResult, ExploreStore
from tests.support.builders.results import START
from tests.support.fake_explore_backend import SMALL, FakeExploreBackend


def small_options(tmp_path: Path, runs: int = 40, confirm: str = "1/1", **changes: Any) -> ExploreOptions:
    """Options for the small menu, with other values of its keys."""
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL | changes, sort_keys=False))
    return ExploreOptions(menu=path, runs=runs, seed=3, confirm=confirm)


def run_exploration(
    tmp_path: Path, backend: FakeExploreBackend, runs: int = 40, **changes: Any
) -> tuple[ExploreStore, ExploreResult]:
    """Explore the small menu against a fake backend."""
    store = ExploreStore.created(tmp_path / "results", "small")
    plan = plan_exploration(small_options(tmp_path, runs, **changes), None, 0)
    return store, Exploration(plan, store, "kafka-chaos explore", backend).execute()


def exploration_result() -> ExploreResult:
    """An exploration that found nothing."""
    return ExploreResult(
        menu=MENU.builtin(BUILT_IN)[0].model_dump(mode="json", by_alias=True, exclude_none=True),
        seed=1,
        confirm="2/3",
        budget_seconds=60.0,
        budget_runs=None,
        shrink_share=0.6,
        command="kafka-chaos explore",
        started_ns=START,
        seconds=1.0,
        clusters=1,
        ended="budget spent",
    )
