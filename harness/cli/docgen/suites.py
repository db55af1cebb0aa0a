"""The pages of claims and of known bugs, made from their definitions and from the results of runs.

`docs/claims/README.md` has one row per claim, `docs/claims/R12.md` is one claim's page, `docs/bugs.md` is the
page of all bugs. What was seen comes from `docs/claims/results.json` and `docs/bugs.json`, which hold whole
runs of `kafka-chaos claims` and `kafka-chaos bugs`.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from harness.cli.docgen import files
from harness.lab.bugs.bug import BUG_SUITE, BUGS, BugResult
from harness.lab.claims.claim import CLAIMS, Claim, ClaimResult, draw, side_by_side
from harness.lab.suite.model import SuiteArmResult, SuiteItem, SuiteResult
from harness.lab.suite.page import arms_of, cells, columns, count, count_verdicts, observations
from harness.model.frozen import Frozen
from harness.report.page.markdown import cell, code_block, table
from harness.spec.experiment import Experiment
from harness.spec.run_plan import lines, plan_of

_CLAIMS = files.DOCS / "claims"
_CLAIM_RESULTS, _BUG_RESULTS = _CLAIMS / "results.json", files.DOCS / "bugs.json"
_SIDE_BY_SIDE = frozenset({"R10", "R18"})

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
                tuple(item if item is latest[item.id] else _without_stories(item) for item in run)
                for run in runs
            ),
        )


ClaimRuns = Runs[ClaimResult]
BugRuns = Runs[BugResult]


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


def claim_pages() -> dict[str, str]:
    """The text of every generated file, by its name below docs/claims."""
    runs = ClaimRuns.load(_CLAIM_RESULTS)
    drawings = draw([result for run in runs.runs for result in run])
    return {
        **{f"{claim.id}.md": claim_page(claim, runs, drawings) for claim in CLAIMS},
        "README.md": overview(runs),
        **{f"{claim}.svg": text for claim, text in drawings.items()},
    }


def overview(runs: ClaimRuns) -> str:
    """The page with all claims."""
    table = result_table(CLAIMS, runs, lambda claim: f"{claim}.md")
    return files.render("claims.md.j2", machine=runs.machine, result_table=table)


def claim_page(claim: Claim, runs: ClaimRuns, drawn: Collection[str] = ()) -> str:
    """One claim's page; `drawn` are the ids of the claims that have a drawing."""
    results = runs.of(claim.id)
    latest = results[-1] if results else None
    # One arm may be a claim's and a control's: its story is told once.
    stories = {(a.experiment, a.arm): a for a in reversed(latest.arms if latest else ()) if a.story}
    return _render(
        "claim.md.j2",
        claim=claim,
        latest=latest,
        verdicts=count_verdicts(results),
        kafka=", ".join(sorted({result.kafka for result in results})),
        picture=claim.id in drawn,
        side_by_side=side_by_side(latest.arms) if latest and claim.id in _SIDE_BY_SIDE else (),
        stories=list(reversed(stories.values())),
    )


def bugs_page(runs: BugRuns) -> str:
    """The page of known bugs."""
    return _render(
        "bugs.md.j2",
        runs=runs,
        suite=BUG_SUITE,
        bugs=BUGS,
        arms_of=arms_of,
        count=count,
        result_table=result_table(BUGS, runs, lambda bug: f"#{bug.lower()}"),
    )


def _render(template: str, **values: Any) -> str:
    def plan_block(experiment: Experiment) -> str:
        """The plan of an experiment with seed 0, without empty lines, as a block of Markdown."""
        return code_block("\n".join(filter(None, lines(plan_of(experiment, 0)))))

    def seen(arm: SuiteArmResult) -> str:
        return table(("", "expected", "seen", ""), observations(arm).rows, cell)

    blocks = {"observations": seen, "plan_block": plan_block, "code_block": code_block}
    return files.render(template, **blocks, **values)


def _take(kind: type[Runs[Any]], saved: Path, results: Sequence[Path], *, more: bool) -> None:
    """Keep the runs in these files of the suite's command as `saved`, and no others unless `more`."""
    kind.collect(results, kind.load(saved) if more else None).save(saved)


CLAIM_PAGES = files.Pages(
    _CLAIMS, claim_pages, (".md", ".svg"), take=partial(_take, ClaimRuns, _CLAIM_RESULTS)
)
BUG_PAGES = files.Pages(
    files.DOCS,
    lambda: {"bugs.md": bugs_page(BugRuns.load(_BUG_RESULTS))},
    take=partial(_take, BugRuns, _BUG_RESULTS),
)
