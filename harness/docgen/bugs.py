"""The page of known bugs, made from their definitions and from the results of runs.

`docs/bugs.md` is the page; what was seen comes from `docs/bugs.json`, which holds whole runs of
`kafka-chaos bugs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.bugs.files import BUGS
from harness.bugs.model import BUG_SUITE, BugResult
from harness.docgen import files, suites
from harness.suite.page import arms_of, count

FOLDER, SUFFIXES = files.DOCS, ()
_RESULTS = FOLDER / "bugs.json"

BugRuns = suites.Runs[BugResult]


def pages() -> dict[str, str]:
    """The text of the page, by its name below docs."""
    return {"bugs.md": page(BugRuns.load(_RESULTS))}


def page(runs: BugRuns) -> str:
    """The whole page."""
    return suites.render(
        "bugs.md.j2",
        runs=runs,
        suite=BUG_SUITE,
        bugs=BUGS,
        arms_of=arms_of,
        count=count,
        result_table=suites.result_table(BUGS, runs, lambda bug: f"#{bug.lower()}"),
    )


def take(results: Sequence[Path], *, more: bool) -> None:
    """Keep the runs in these files of `kafka-chaos bugs`, and no others unless `more`."""
    BugRuns.collect(results, BugRuns.load(_RESULTS) if more else None).save(_RESULTS)
