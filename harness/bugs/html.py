"""The results of reproducing known bugs as one HTML file that needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.bugs.model import BUG_SUITE, Bug
from harness.suite import html
from harness.suite.model import SuiteResult


def write_page(bugs: Sequence[Bug], results: Sequence[SuiteResult], folder: Path) -> Path:
    """Write `folder`/bugs.html and return its path.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    return html.write_page(render(bugs, results, folder), BUG_SUITE.name, folder)


def render(bugs: Sequence[Bug], results: Sequence[SuiteResult], folder: Path | None = None) -> str:
    """The page as HTML text; `bugs` are those of the results, in the same order."""
    return html.render(
        bugs,
        results,
        heading="Known bugs of Kafka, reproduced",
        facts=lambda bug: [
            ("Affected", bug.affected),
            ("Fixed", bug.fixed),
            ("Proof", bug.proof),
            ("Set-up", bug.set_up),
            ("Source", bug.link),
        ],
        folder=folder,
    )
