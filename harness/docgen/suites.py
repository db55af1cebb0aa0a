"""What the pages of claims and of known bugs share: saved runs of a suite, and cells of its table."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from harness.docgen import files
from harness.model.frozen import Frozen
from harness.page.markdown import cell, code_block, table
from harness.spec.experiment import Experiment
from harness.spec.run_plan import lines, plan_of
from harness.suite.model import SuiteArmResult, SuiteItem, SuiteResult
from harness.suite.page import cells, columns, observations

AnySuiteResult = TypeVar("AnySuiteResult", bound=SuiteResult)


class Runs(Frozen, Generic[AnySuiteResult]):
    """Runs of a suite: one list of results per run, the latest run last."""

    machine: str = ""
    runs: tuple[tuple[AnySuiteResult, ...], ...] = ()

    def of(self, name: str) -> list[AnySuiteResult]:
        """The results of one item by its id, run by run."""
        return [result for run in self.runs for result in run if result.id == name]

    @classmethod
    def load(cls, file: Path) -> Self:
        """The saved runs; none if there is no such file."""
        return cls.model_validate_json(file.read_text()) if file.exists() else cls()

    def save(self, file: Path) -> None:
        file.write_text(self.model_dump_json(indent=1) + "\n")

    @classmethod
    def collect(cls, files: Sequence[Path], before: Self | None = None) -> Self:
        """The runs in these files of the suite's command, after those of `before`. Pages tell the story of
        the latest run of each item alone; the results before it are kept without theirs."""
        newer = cls.model_validate({"runs": [json.loads(file.read_text()) for file in files]}).runs
        runs = (*(before.runs if before else ()), *newer)
        latest = {result.id: result for run in runs for result in run}
        kernel = ".".join(platform.release().split(".")[:2])
        return cls(
            machine=f"{os.cpu_count()} cores, Linux {kernel}",
            runs=tuple(
                tuple(one if one is latest[one.id] else _without_stories(one) for one in run) for run in runs
            ),
        )


def take(kind: type[Runs[Any]], saved: Path, results: Sequence[Path], *, more: bool) -> None:
    """Keep the runs in these files of the suite's command as `saved`, and no others unless `more`."""
    kind.collect(results, kind.load(saved) if more else None).save(saved)


def _without_stories(result: AnySuiteResult) -> AnySuiteResult:
    arms = tuple(arm.model_copy(update={"story": ()}) for arm in result.arms)
    return result.model_copy(update={"arms": arms})


def result_table(items: Sequence[SuiteItem], runs: Runs[AnySuiteResult], link: Callable[[str], str]) -> str:
    """The Markdown table of a suite, one row per item; `link` is the address of an item's page by its id."""
    suite = items[0].suite
    rows = []
    for item in items:
        results = runs.of(item.id)
        row = cells(suite, results)[1:] if results else ("-", "-", "-", "-", "not run yet", "-")
        head = f"[{item.id}]({link(item.id)}) {cell(item.title)}"
        rows.append([head, *("<br>".join(map(cell, text.split("\n"))) for text in row)])
    return table(columns(suite), rows, str)


def render(template: str, **values: Any) -> str:
    """A page of claims or bugs from its template."""
    blocks = {"observations": _observations, "plan_block": _plan_block, "code_block": code_block}
    return files.render(template, **blocks, **values)


def _observations(arm: SuiteArmResult) -> str:
    return table(("", "expected", "seen", ""), observations(arm).rows, cell)


def _plan_block(experiment: Experiment) -> str:
    """The plan of an experiment with seed 0, without empty lines, as a block of Markdown."""
    return code_block("\n".join(line for line in lines(plan_of(experiment, 0)) if line))
