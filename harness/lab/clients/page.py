"""The page of a comparison of clients, for a terminal, report.html, Markdown and JUnit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from harness.lab.clients.client_run import ClientCell
from harness.lab.clients.comparison_result import ClientsResult
from harness.many.matrix.table import interval_of
from harness.model.result import VerdictWord
from harness.report.ci import JunitCase, junit_of
from harness.report.page import html, markdown
from harness.report.page.blocks import (
    AnyCell,
    Block,
    Cell,
    Lines,
    Page,
    Status,
    Table,
    Text,
    grid,
    section,
    text_of,
)

JUNIT_FILE, MARKDOWN_FILE = "clients.junit.xml", "clients.md"
_COUNTS = ("sent", "acked", "failed", "no report", "lost", "twice", "late", "gap s", "errors")
NOTE = (
    "The median over the runs, and the range in brackets where they differ. failed: the client gave the send "
    "up with an error. no report: neither success nor error came until the program had to close. lost: "
    "reported as a success, and not in the log; in brackets with acks=0, where no broker confirms anything. "
    "twice: in the log more than once. late: in the log after records that were sent later. gap s: the "
    "longest time in seconds without a report of success. acks has an i where the producer is idempotent."
)
_MOST_ERRORS = 3
_WORDS = {"absent": "lost", "duplicates": "twice", "reordered": "late"}
_STATUS: dict[bool, Status] = {True: "bad", False: "good"}


def comparison_page(result: ClientsResult) -> Page:
    """All of a comparison as one page."""
    bad = any(run.lost or run.duplicates or run.reordered for cell in result.cells for run in cell.proved)
    return Page(
        kind="clients",
        title="Kafka's clients under the same faults",
        started_ns=result.started_ns,
        headline=headline(result),
        status=_STATUS[bad] if result.runs else "unclear",
        blocks=(*blocks(result), Text(f"Made by `{result.command}`.", only="html markdown")),
    )


def headline(result: ClientsResult) -> str:
    """How much was run, in one sentence."""
    arms = {(run.client, run.mode) for run in result.runs}
    faults = len({run.fault for run in result.runs})
    return f"{len(arms)} ways to use {len({client for client, _ in arms})} clients, {faults} faults"


def blocks(result: ClientsResult) -> Iterator[Block]:
    """A table for each fault, and what it must be known with."""
    for fault, cells in groupby(result.cells, key=lambda cell: cell.fault):
        same = list(cells)
        shares = Lines(list(shares_of(same)), only="html markdown")
        yield section(result.titles.get(fault, fault), fault_table(same), shares, id=f"fault-{fault}")
    yield Text(NOTE, note=True)
    yield Lines([f"`{name}`: {says}" for name, says in result.says.items()], only="html markdown")
    yield Lines(list(doubts(result)))


def fault_table(cells: Sequence[ClientCell]) -> Table:
    """One row for each client and mode."""
    return Table(
        *grid(map(_row, cells)),
        right=tuple(name for name in _COUNTS if name != "errors"),
        heads=2,
        cards=True,
    )


def shares_of(cells: Sequence[ClientCell]) -> Iterator[str]:
    """In how many runs a client lost, doubled or reordered anything, with the interval at 95 %."""
    for cell in cells:
        shares = {word: cell.share_with(what) for what, word in _WORDS.items()}
        seen = [f"{word} in {share} runs ({interval_of(share)})" for word, share in shares.items() if share.k]
        if seen:
            yield f"{cell.client}, {cell.mode}: {', '.join(seen)}"


def row_texts(cell: ClientCell) -> dict[str, str]:
    """A row of the table of a fault as texts, by column."""
    return {name: text_of(value) for name, value in _row(cell).items()}


def _row(cell: ClientCell) -> dict[str, AnyCell]:
    first = (cell.proved or cell.runs)[0]
    left_out = len(cell.runs) - len(cell.proved)
    head: dict[str, AnyCell] = {
        "client": cell.client,
        "mode": cell.mode,
        "acks": f"{first.acks}{' i' if first.idempotent else ''}",
        "runs": f"{len(cell.proved)}" + (f" (+{left_out})" if left_out else ""),
    }
    if not cell.proved:
        return head | dict.fromkeys(_COUNTS, "-")
    absent = cell.span("lost") if first.acks != "0" else f"({cell.span('unconfirmed_absent')})"
    errors = [f"{name} {count:,}" for name, count in cell.errors.items()]
    more = f", {len(errors) - _MOST_ERRORS} more" if len(errors) > _MOST_ERRORS else ""
    return head | {
        "sent": cell.span("sent"),
        "acked": cell.span("acked"),
        "failed": cell.span("failures"),
        "no report": cell.span("unreported"),
        "lost": _marked(absent, any(run.lost for run in cell.proved)),
        "twice": _marked(cell.span("duplicates"), any(run.duplicates for run in cell.proved)),
        "late": _marked(cell.span("reordered"), any(run.reordered for run in cell.proved)),
        "gap s": cell.span("longest_gap"),
        "errors": ", ".join(errors[:_MOST_ERRORS]) + more or "-",
    }


def _marked(text: str, bad: bool) -> AnyCell:
    return Cell(text, "bad", strong=True) if bad else text


def doubts(result: ClientsResult) -> Iterator[str]:
    """What is not in the table, and why."""
    for name, why in result.left_out.items():
        yield f"{name} was left out: {why}"
    for cell in result.cells:
        where = f"{cell.client}, {cell.mode}, {cell.fault}"
        for run in cell.runs:
            if not run.counts:
                yield f"{where}: a run proves nothing: {'; '.join(run.reasons)}"
        if any(run.wrong_offsets for run in cell.proved):
            yield f"{where}: {cell.span('wrong_offsets')} success reports named a wrong offset"


def junit_text(result: ClientsResult) -> str:
    """A test case for each run: it fails if the run is `invalid`, and is an error if it proves nothing."""
    cases = (
        JunitCase(
            f"{cell.client}.{cell.mode}",
            f"{cell.fault} {number}",
            failed="\n".join(run.reasons) if run.verdict is VerdictWord.INVALID else "",
            undecided="\n".join(run.reasons) if run.verdict is VerdictWord.UNKNOWN else "",
        )
        for cell in result.cells
        for number, run in enumerate(cell.runs, 1)
    )
    return junit_of("kafka-chaos clients", cases)


def write_pages(result: ClientsResult, folder: Path) -> Path:
    """Write report.html, clients.md and clients.junit.xml; returns the first's path.

    Raises:
        KafkaChaosError: one cannot be written.
    """
    page = comparison_page(result)
    texts = {
        html.REPORT_FILE: html.render(page, folder),
        MARKDOWN_FILE: markdown.render(page),
        JUNIT_FILE: junit_text(result),
    }
    return html.save_pages(
        texts.items(),
        folder,
        what="the report of the comparison",
        next_step=f"free space, then `kafka-chaos clients --from {folder}` writes it again",
    )
