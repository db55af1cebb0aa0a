"""The results of a run of claims as one HTML file that needs no other file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from harness.claims import plots
from harness.claims.model import CLAIM_SUITE, Claim
from harness.report.html import environment, save_page
from harness.suite.model import SuiteResult, SuiteVerdict
from harness.suite.table import MARKS, cells, columns

PAGE_FILE = "claims.html"
_BADGES = {SuiteVerdict.YES: "good", SuiteVerdict.NO: "bad", SuiteVerdict.UNKNOWN: "unclear"}


def write_page(claims: Sequence[Claim], results: Sequence[SuiteResult], folder: Path) -> Path:
    """Write `folder`/claims.html and return its path.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    return save_page(
        render(claims, results),
        folder / PAGE_FILE,
        what="the page of the claims",
        next_step="free space or correct its permissions; claims.json beside it holds the same",
    )


def render(claims: Sequence[Claim], results: Sequence[SuiteResult]) -> str:
    """The page as HTML text; `claims` are those of the results, in the same order."""
    rows = [
        (claim, result, cells(CLAIM_SUITE, [result])) for claim, result in zip(claims, results, strict=True)
    ]
    template = environment().get_template("claims.html.j2")
    return template.render(
        headline=headline(results),
        columns=("claim", "", *columns(CLAIM_SUITE)[1:]),
        rows=rows,
        badge=_BADGES,
        marks=MARKS,
        # `plots` escapes every text in them.
        plots={name: Markup(text) for name, text in plots.draw(results).items()},
    )


def headline(results: Sequence[SuiteResult]) -> str:
    """The outcome in one line: `24 of 26 claims: yes; 1 no; 1 unknown`."""
    counts = Counter(result.verdict for result in results)
    rest = "".join(f"; {counts[one]} {one}" for one in (SuiteVerdict.NO, SuiteVerdict.UNKNOWN) if counts[one])
    return f"{counts[SuiteVerdict.YES]} of {len(results)} claims: yes{rest}"
