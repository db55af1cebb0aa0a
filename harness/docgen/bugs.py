"""The page of known bugs, made from their definitions and from the results of runs.

`docs/bugs.md` is the page; what was seen comes from `docs/bugs.json`, which holds whole runs of
`kafka-chaos bugs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.bugs.catalog.registry import BUGS
from harness.bugs.model import BUG_SUITE, BugResult
from harness.docgen import files, suites
from harness.report.markdown import code_block
from harness.suite.table import MARKS, arms_of, count

_RESULTS = files.DOCS / "bugs.json"

BugRuns = suites.Runs[BugResult]


def pages() -> dict[str, str]:
    """The text of the page, by its name below docs."""
    return {"bugs.md": page(BugRuns.load(_RESULTS))}


def page(runs: BugRuns) -> str:
    """The whole page."""
    return files.render(
        "bugs.md.j2",
        runs=runs,
        suite=BUG_SUITE,
        bugs=BUGS,
        arms_of=arms_of,
        count=count,
        marks=MARKS,
        plan_block=suites.plan_block,
        code_block=code_block,
        result_table=suites.result_table(BUGS, runs, lambda bug: f"#{bug.lower()}"),
    )


def drifted() -> list[str]:
    """The page's name, if it is missing or differs."""
    return files.drifted(pages(), files.DOCS, ())


def write() -> list[str]:
    """Write the page if it has drifted; returns the names of the files written."""
    return files.write(pages(), files.DOCS, ())


def take(results: Sequence[Path]) -> None:
    """Keep the runs in these files of `kafka-chaos bugs`, and no others."""
    BugRuns.collect(results).save(_RESULTS)
