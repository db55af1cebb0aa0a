"""What came of a run of claims as one HTML file that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from harness.claims import plots
from harness.report.html import environment, save_page
from harness.suite.model import Claim, ClaimResult, ClaimVerdict
from harness.suite.table import COLUMNS, cells

MARKS = {True: "as expected", False: "not as expected", None: "not told"}
_BADGES = {ClaimVerdict.YES: "good", ClaimVerdict.NO: "bad", ClaimVerdict.UNKNOWN: "unclear"}


def write_page(claims: Sequence[Claim], results: Sequence[ClaimResult], folder: Path) -> Path:
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


def render(claims: Sequence[Claim], results: Sequence[ClaimResult]) -> str:
    """The page as HTML text; `claims` are those of the results, in the same order."""
    rows = [(claim, result, cells(result)) for claim, result in zip(claims, results, strict=True)]
    template = environment().get_template("claims.html.j2")
    return template.render(
        headline=headline(results),
        columns=("claim", "", *COLUMNS[1:]),
        rows=rows,
        badge=_BADGES,
        marks=MARKS,
        # Made by us, with every text in it escaped.
        plots={name: Markup(text) for name, text in plots.drawn(results).items()},
    )


def headline(results: Sequence[ClaimResult]) -> str:
    """The outcome in one line: `24 of 26 claims: yes; 1 no; 1 unknown`."""
    counted = Counter(result.answer for result in results)
    rest = "".join(
        f"; {counted[one]} {one}" for one in (ClaimVerdict.NO, ClaimVerdict.UNKNOWN) if counted[one]
    )
    return f"{counted[ClaimVerdict.YES]} of {len(results)} claims: yes{rest}"


PAGE_FILE = "claims.html"
