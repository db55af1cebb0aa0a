"""Results as a table for people."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from harness.model.result import ArmResult, ExperimentResult, FindingClass, Summary, VerdictWord

_COLOURS = {VerdictWord.VALID: "green", VerdictWord.INVALID: "red", VerdictWord.UNKNOWN: "yellow"}
_PROMISED = {True: ("yes", "green"), False: ("no", "bold red"), None: ("unknown", "yellow")}
COLUMNS = (
    "arm",
    "sent",
    "acked",
    "indeterminate",
    "lost",
    "duplicates",
    "unavailable s",
    "verdict",
    "as promised",
)


def cells(arm: ArmResult) -> tuple[str, ...]:
    """One arm's row as text, in the order of `COLUMNS`; dashes where nothing could be counted."""
    verdict = arm.judgement.verdict.value
    promised = _PROMISED[arm.judgement.as_promised][0]
    summary = arm.summary
    if summary is None:
        return (arm.folder, *("-" for _ in COLUMNS[1:7]), verdict, promised)
    return (
        arm.folder,
        f"{summary.sent:,}",
        _with(summary.outcomes.get("acked", 0), summary.outcomes.get("unconfirmed", 0), "unconfirmed"),
        f"{summary.outcomes.get('indeterminate', 0):,}",
        _with(
            summary.count(FindingClass.LOST), summary.count(FindingClass.UNCONFIRMED_ABSENT), "unconfirmed"
        ),
        f"{summary.count(FindingClass.DUPLICATE):,}",
        f"{summary.unavailable_seconds:.1f}",
        verdict,
        promised,
    )


def table(result: ExperimentResult) -> Table:
    """The table that a run ends with."""
    shown = Table(title=f"{result.experiment}: {result.title}", title_justify="left", title_style="bold")
    for column in COLUMNS:
        right = column not in ("arm", "verdict", "as promised")
        shown.add_column(column, justify="right" if right else "left", overflow="fold")
    for arm in result.arms:
        *plain, verdict, promised = cells(arm)
        shown.add_row(
            *plain,
            Text(verdict, style=_COLOURS[arm.judgement.verdict]),
            Text(promised, style=_PROMISED[arm.judgement.as_promised][1]),
        )
    return shown


def explanation(arm: ArmResult, examples: int = 3) -> str:
    """Why one arm got its verdict, its worst examples, and where to look further."""
    lines = [f"{arm.folder}: {arm.judgement.verdict}"]
    lines += [f"  - {reason}" for reason in (*arm.judgement.promise_reasons, *arm.judgement.reasons)]
    if arm.summary is not None:
        lines += [f"  e.g. {line}" for line in example_lines(arm.summary)[:examples]]
    return "\n".join(lines)


def example_lines(summary: Summary) -> list[str]:
    """Findings that are worth showing, one line each: what is allowed anyway stays out."""
    quiet = (FindingClass.RECOVERED, FindingClass.EXPIRED)
    lines = []
    for example in summary.examples:
        if example.finding in quiet:
            continue
        during = f", during {example.windows}" if example.windows else ""
        lines.append(
            f"{example.finding}: producer {example.producer}, seq {example.seq}, "
            f"partition {example.partition}: {example.detail}{during}"
        )
    return lines


def _with(main: int, aside: int, word: str) -> str:
    return f"{main:,} (+{aside:,} {word})" if aside else f"{main:,}"
