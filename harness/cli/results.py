"""How the result of an experiment is printed, and the page of all results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from harness.audit.audit import remedies
from harness.cli.options import ERRORS, print_text
from harness.model.errors import KafkaChaosError
from harness.model.result import ExperimentResult
from harness.page.html import INDEX_FILE
from harness.page.terminal import print_table
from harness.report.arms_table import explanation, table
from harness.report.index import write_index


@contextmanager
def indexed(results: Path) -> Iterator[None]:
    """Write the page of all results anew after reports were written; the reports link to it.

    A page that cannot be written is a warning: it must not change the outcome of a run.
    """
    if not (results / INDEX_FILE).exists():
        refresh_index(results)
    yield
    refresh_index(results)


def refresh_index(results: Path) -> None:
    """Write the page of all results anew, or print a warning."""
    try:
        write_index(results)
    except KafkaChaosError as problem:
        print_text(ERRORS, f"kafka-chaos: warning: {problem}")


def print_engines(out: Console, result: ExperimentResult) -> None:
    """Print what counted the findings, and its version."""
    named = dict.fromkeys(arm.summary.engine for arm in result.arms if arm.summary and arm.summary.engine)
    if named:
        print_text(out, f"counted by {', '.join(named)}")


def print_result(out: Console, result: ExperimentResult) -> None:
    """Print the table of an experiment, and below it why each arm got its verdict, and what its settings
    should be instead if it is `invalid`."""
    print_table(out, table(result))
    for arm in result.arms:
        print_text(out, explanation(arm))
        for remedy in remedies(arm):
            print_text(out, f"  remedy {remedy}")
