"""The results of a run of claims as one HTML file that needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from harness.claims import plots
from harness.claims.model import CLAIM_SUITE, Claim
from harness.suite import html
from harness.suite.model import SuiteResult


def write_page(claims: Sequence[Claim], results: Sequence[SuiteResult], folder: Path) -> Path:
    """Write `folder`/claims.html and return its path.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    return html.write_page(render(claims, results, folder), CLAIM_SUITE.name, folder)


def render(claims: Sequence[Claim], results: Sequence[SuiteResult], folder: Path | None = None) -> str:
    """The page as HTML text; `claims` are those of the results, in the same order."""
    return html.render(
        claims,
        results,
        heading="Claims on Kafka's guarantees, put to the test",
        facts=lambda claim: [*([("Today", claim.today)] if claim.today else []), ("Set-up", claim.set_up)],
        # `plots` escapes every text in them.
        plots={name: Markup(text) for name, text in plots.draw(results).items()},
        folder=folder,
    )
