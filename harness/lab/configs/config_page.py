"""The page of a comparison of files: which loses what, and which costs how much waiting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from checkers import share_of
from harness.lab.clients.client_run import span_of
from harness.lab.configs.beyond_chance import beyond_chance
from harness.lab.configs.config_result import ConfigComparison
from harness.lab.configs.config_run import ConfigCell
from harness.many.matrix.done import one_run_in_words, what_was_done
from harness.many.matrix.page import how_measured, overall, worst_first, worst_runs, write_pages
from harness.many.matrix.result import MatrixResult
from harness.many.matrix.table import ONE_SIDED, SOME_LOST, SOME_LOST_NOTE, interval_of
from harness.report.arms_table import UNCONFIRMED_NOTE
from harness.report.page.blocks import (
    AnyCell,
    Cell,
    Lines,
    Page,
    Section,
    Table,
    Text,
    grid,
    section,
    text_of,
)

_COUNTS = ("duplicates", "reordered", "failed")
_MEASURED = ("runs", "lost", "runs with loss", *_COUNTS, "longest wait s", "p50 ms", "p99 ms")
NOTE = (
    "The median over the runs, and the range in brackets where they differ. lost: acknowledged records that "
    "are gone. duplicates, reordered: in the log more than once, or after a record that was sent later. "
    "failed: sends that ended with an error or without a report. longest wait: the longest time without a "
    "report of success, counted from one second up. p50, p99: what half and 99 % of the sends waited at most "
    "for their report of success."
)
_ORIGINS = (
    "These settings of librdkafka were compared. A file with names of the Java client has its defaults of "
    "idempotence and of requests in flight; all else that is not written has librdkafka's, but "
    "delivery.timeout.ms is 30 s."
)


def configs_page(comparison: ConfigComparison, result: MatrixResult, arms: tuple[Section, ...] = ()) -> Page:
    """The page of a comparison whose cells are known. `arms` are sections about single runs."""
    unfinished = "" if result.ended == "all runs made" else f"Not all runs were made: {result.ended}."
    return Page(
        kind="configs",
        title=f"Settings compared: {result.title}",
        started_ns=result.started_ns,
        headline=comparison.headline,
        status=overall(result),
        blocks=(
            Text(comparison.headline, only="terminal"),
            Text(what_was_done(result), only="html markdown"),
            Text(unfinished, status="unclear"),
            section("What is lost, and how long it takes", configs_table(comparison), id="cells"),
            section("Is it more than chance?", Lines(list(beyond_chance(result))), id="chance"),
            section(
                "What the files differ in",
                differences_table(comparison),
                Text(_ORIGINS, note=True, only="html markdown"),
                Lines([f"not used: {line}" for line in comparison.unused], only="html markdown"),
                id="settings",
            ),
            section("Left out", Lines(list(_left_out(comparison))), id="left-out"),
            *worst_first(arms),
            how_measured(result),
        ),
    )


def configs_table(comparison: ConfigComparison) -> Table:
    """One row for each fault and file."""
    columns, rows = grid(map(_row, comparison.cells))
    texts = "".join(text_of(cell) for row in rows for cell in row)
    notes = [
        NOTE,
        UNCONFIRMED_NOTE if any(run.unconfirmed for cell in comparison.cells for run in cell.runs) else "",
        SOME_LOST_NOTE if SOME_LOST in texts else "",
        ONE_SIDED if "from " in texts or "up to " in texts else "",
    ]
    return Table(
        columns,
        rows,
        note=" ".join(filter(None, notes)),
        right=_MEASURED,
        no_wrap=("runs", *_COUNTS, "p50 ms", "p99 ms"),
        heads=2,
        cards=True,
    )


def differences_table(comparison: ConfigComparison) -> Table:
    """One row for each setting in which the files differ."""
    columns = ("setting", *comparison.files)
    rows = [(name, *values.values()) for name, values in comparison.differences.items()]
    return Table(columns, rows, cards=True)


def headline_of(comparison: ConfigComparison, result: MatrixResult) -> str:
    """Which file loses what and waits how long, in one sentence."""
    parts = [
        _in_words(file, [cell for cell in comparison.cells if cell.file == file]) for file in comparison.files
    ]
    known = [part for part in parts if part]
    if not known:
        return "No result: no run has a known verdict"
    return "; ".join(filter(None, (*known, one_run_in_words(result))))


def write_configs_pages(comparison: ConfigComparison, result: MatrixResult, folder: Path) -> Path:
    """Write report.html and matrix.md with the comparison, and the other files of a matrix; returns the
    first's path.

    Raises:
        KafkaChaosError: one cannot be written.
    """
    return write_pages(result, folder, configs_page(comparison, result, worst_runs(result, folder)))


def _in_words(file: str, cells: Sequence[ConfigCell]) -> str:
    """What came of a file under all faults; empty: none of its runs counts."""
    runs = [run for cell in cells for run in cell.runs]
    if not runs:
        return ""
    lost = share_of(sum(bool(run.lost or run.absent) for run in runs), len(runs))
    counts = [
        f"lost records in {lost} runs" if lost.k else f"lost nothing in {lost.n} run{'s' * (lost.n > 1)}"
    ]
    for what, verb in (
        ("duplicates", "wrote some twice"),
        ("reordered", "reordered some"),
        ("failed", "had failed sends"),
    ):
        if having := sum(bool(getattr(run, what)) for run in runs):
            counts.append(f"{verb} in {having}")
    waits = [(waited, cell.fault) for cell in cells if (waited := _median_wait(cell)) is not None]
    longest, fault = max(waits, default=(None, ""))
    wait = "" if longest is None else f" and waited up to {longest:.1f} s ({fault})"
    return f"{file} {', '.join(counts)}{wait}"


def _median_wait(cell: ConfigCell) -> float | None:
    known = [value for value in cell.values("waited") if value is not None]
    return median(known) if known else None


def _row(cell: ConfigCell) -> dict[str, AnyCell]:
    number = f"{len(cell.runs)}" + (f" (+{len(cell.left_out)})" if cell.left_out else "")
    head: dict[str, AnyCell] = {"fault": cell.fault, "file": cell.file, "runs": number}
    if not cell.runs:
        return head | dict.fromkeys(_MEASURED[1:], "-")
    aside = any(run.unconfirmed for run in cell.runs)
    lost = span_of(cell.values("absent" if aside else "lost"))
    share = cell.share_with("lost", "absent")
    some_lost = SOME_LOST * bool(share.k)
    return head | {
        "lost": _marked(f"({lost})" if aside else lost, bool(share.k)),
        "runs with loss": f"{share} ({interval_of(share)})",
        **{what: _marked(span_of(cell.values(what)), bool(cell.share_with(what).k)) for what in _COUNTS},
        "longest wait s": f"{span_of(cell.values('waited'))}{some_lost}",
        "p50 ms": span_of(cell.values("p50_ms")),
        "p99 ms": span_of(cell.values("p99_ms")),
    }


def _marked(text: str, strong: bool) -> AnyCell:
    return Cell(text, strong=True) if strong else text


def _left_out(comparison: ConfigComparison) -> Iterator[str]:
    for cell in comparison.cells:
        where = f"{cell.file} under {cell.fault}"
        if cell.reason is not None:
            yield f"{where}: {cell.reason}"
        yield from (f"{where}, {line}" for line in cell.left_out)
