"""How the result of an experiment is printed."""

from __future__ import annotations

from rich.console import Console

from harness.audit.remedy import remedies
from harness.cli.options import print_text
from harness.model.result import ExperimentResult
from harness.report.table import explanation, table


def print_result(out: Console, result: ExperimentResult) -> None:
    """Print the table of an experiment, and below it why each arm got its verdict, and what its settings
    should be instead if it is `invalid`."""
    out.print(table(result))
    for arm in result.arms:
        print_text(out, explanation(arm))
        for remedy in remedies(arm):
            print_text(out, f"  remedy {remedy}")
