"""The results of a run of a suite as one HTML file that needs no other file."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from harness.report.html import environment, index_link, save_page
from harness.suite.model import Item, Suite, SuiteResult, SuiteVerdict, exit_code
from harness.suite.table import MARKS, cells, columns

_NO_PLOTS: Mapping[str, Markup] = {}


def write_page(text: str, name: str, folder: Path) -> Path:
    """Write the page NAME.html of the suite NAME into `folder`, and return its path.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    return save_page(
        text,
        folder / f"{name}.html",
        what=f"the page of the {name}",
        next_step=f"free space or correct its permissions; {name}.json beside it holds the same",
    )


def render(
    items: Sequence[Item],
    results: Sequence[SuiteResult],
    *,
    heading: str,
    facts: Callable[[Item], Sequence[tuple[str, str]]],
    plots: Mapping[str, Markup] = _NO_PLOTS,
    folder: Path | None = None,
) -> str:
    """The page as HTML text.

    Args:
        items: those of the results, in the same order.
        heading: the first heading.
        facts: names and texts that stand below what an item says.
        plots: drawings by the id of their item.
        folder: where the page will be, for a link to the page of all results.
    """
    suite = items[0].suite
    return (
        environment()
        .get_template("suite.html.j2")
        .render(
            suite=suite,
            heading=heading,
            headline=headline(suite, results),
            overall={0: "good", 1: "bad"}.get(exit_code(results), "unclear"),
            columns=(suite.item, "title", *columns(suite)[1:]),
            rows=[
                (item, result, cells(suite, [result])) for item, result in zip(items, results, strict=True)
            ],
            badge={verdict: _badge(verdict) for verdict in SuiteVerdict},
            marks=MARKS,
            facts=facts,
            plots=plots,
            started_ns=time.time_ns(),
            index=index_link(folder),
        )
    )


def headline(suite: Suite, results: Sequence[SuiteResult]) -> str:
    """The outcome in one line: `24 of 26 claims: yes; 1 no; 1 unknown`."""
    counts = Counter(result.verdict for result in results)
    others = (suite.failed, SuiteVerdict.UNKNOWN)
    rest = "".join(f"; {counts[one]} {one}" for one in others if counts[one])
    return f"{counts[suite.passed]} of {len(results)} {suite.name}: {suite.passed}{rest}"


def _badge(verdict: SuiteVerdict) -> str:
    if verdict.passed:
        return "good"
    return "bad" if verdict.failed else "unclear"
