"""The page of known bugs, made from their definitions and from the results of runs.

`docs/bugs.md` is the page; what was seen comes from `docs/bugs.json`, which holds whole runs of
`kafka-chaos bugs`.
"""

from __future__ import annotations

from functools import partial

from harness.bugs.bug import BUG_SUITE, BUGS, BugResult
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


take = partial(suites.take, BugRuns, _RESULTS)
