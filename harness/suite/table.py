"""What came of claims, for people: a table, and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from harness.report.table_builder import build_table
from harness.suite.model import Claim, ClaimResult, ClaimVerdict, Role

_COLOURS = {ClaimVerdict.YES: "green", ClaimVerdict.NO: "bold red", ClaimVerdict.UNKNOWN: "yellow"}
COLUMNS = ("claim", "expected", "seen", "control expected", "control seen", "verdict", "seconds")


def cells(result: ClaimResult) -> tuple[str, ...]:
    """A claim's row as text, in the order of `COLUMNS`; one line a trial: its headline."""
    columns = [f"{result.id} {result.title}"]
    for role in Role:
        rows = [(trial.arm, trial.headline()) for trial in result.of(role)]
        columns.append("\n".join(f"{arm}: {row.what} {row.expected}" if row else arm for arm, row in rows))
        columns.append("\n".join(f"{arm}: {row.seen}" if row else f"{arm}: -" for arm, row in rows))
    return (*columns, result.answer.value, f"{result.seconds:.0f}")


def table(results: Sequence[ClaimResult]) -> Table:
    """One row a claim."""
    rows: list[list[str | Text]] = []
    for result in results:
        *plain, verdict, seconds = cells(result)
        rows.append([*plain, Text(verdict, style=_COLOURS[result.answer]), seconds])
    return build_table(COLUMNS, rows, right=("seconds",))


def reasons(results: Sequence[ClaimResult]) -> list[str]:
    """Why claims are not a clean yes, and where to look further."""
    lines = []
    for result in results:
        if result.answer is not ClaimVerdict.YES:
            lines.append(f"{result.id}: {result.answer}")
            lines += [f"  - {reason}" for reason in result.reasons]
            folders = dict.fromkeys(trial.folder for trial in result.trials if trial.folder)
            lines += [f"  see {folder}" for folder in folders]
    return lines


def listing(claims: Sequence[Claim]) -> Table:
    """What there is, without running anything."""
    rows = [(one.id, one.title, *(_arms(one, role) for role in Role)) for one in claims]
    return build_table(("claim", "title", "arms", "controls"), rows)


def _arms(claim: Claim, role: Role) -> str:
    return "\n".join(f"{trial.experiment.name}: {trial.arm}" for trial in claim.trials if trial.role is role)
