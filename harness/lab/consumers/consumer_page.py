"""The page of a comparison of consumers, for a terminal, report.html and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from harness.lab.consumers.consumer_result import ConsumersResult
from harness.lab.consumers.consumer_run import ConsumerCell
from harness.report.ci import JunitCase, junit_of
from harness.report.page import html, markdown
from harness.report.page.blocks import (
    AnyCell,
    Block,
    Cell,
    Lines,
    Page,
    Table,
    Text,
    grid,
    section,
    text_of,
)

CONSUMERS_MARKDOWN, CONSUMERS_JUNIT = "consumers.md", "consumers.junit.xml"
_COUNTS = ("commit/next", "skipped", "twice", "gap s", "two at once s", "aborted", "markers")
CONSUMERS_NOTE = (
    "The median over the runs, and the range in brackets where they differ. commit/next: what the group had "
    "committed when its first process had ended, and the offset behind the last record that it had handled. "
    "skipped: in the log, and never handled by any process. twice: handled more than once, which "
    "at-least-once delivery allows. gap s: the longest time in seconds without a handled record while the "
    "next one stood in the log. two at once s: for how long two members handled one partition side by side. "
    "aborted: records of aborted transactions that were handled. markers: ends of transactions that were "
    "handed out as records. whose: the client's, if its own commit was ahead of the handler, or its position "
    "jumped; the program's, if its handler failed and it went on, or its own commit was ahead."
)


def consumers_page(result: ConsumersResult) -> Page:
    """All of a comparison of consumers as one page."""
    bad = any(run.skipped for cell in result.cells for run in cell.proved)
    return Page(
        kind="consumers",
        title="Kafka's consumers in the same situations",
        started_ns=result.started_ns,
        headline=consumers_headline(result),
        status="unclear" if not result.runs else "bad" if bad else "good",
        blocks=(*consumer_blocks(result), Text(f"Made by `{result.command}`.", only="html markdown")),
    )


def consumers_headline(result: ConsumersResult) -> str:
    """How much was run, in one sentence."""
    arms = {(run.client, run.mode) for run in result.runs}
    situations = len({run.situation for run in result.runs})
    clients = len({client for client, _ in arms})
    return f"{len(arms)} ways to consume with {clients} clients, {situations} situations"


def consumer_blocks(result: ConsumersResult) -> Iterator[Block]:
    """A table for each situation, and what it must be known with."""
    for situation, cells in groupby(result.cells, key=lambda cell: cell.situation):
        title = result.titles.get(situation, situation)
        yield section(title, situation_table(list(cells)), id=f"situation-{situation}")
    yield Text(CONSUMERS_NOTE, note=True)
    yield Lines([f"`{name}`: {says}" for name, says in result.says.items()], only="html markdown")
    yield Lines(list(consumer_doubts(result)))


def situation_table(cells: Sequence[ConsumerCell]) -> Table:
    """One row for each client and mode."""
    return Table(*grid(map(_row, cells)), right=_COUNTS, heads=2, cards=True)


def consumer_texts(cell: ConsumerCell) -> dict[str, str]:
    """A row of the table of a situation as texts, by column."""
    return {name: text_of(value) for name, value in _row(cell).items()}


def _row(cell: ConsumerCell) -> dict[str, AnyCell]:
    left_out = len(cell.runs) - len(cell.proved)
    head: dict[str, AnyCell] = {
        "client": cell.client,
        "mode": cell.mode,
        "runs": f"{len(cell.proved)}" + (f" (+{left_out})" if left_out else ""),
    }
    if not cell.proved:
        return head | dict.fromkeys((*_COUNTS, "whose"), "-")
    skipped, aborted = cell.span("skipped"), cell.span("aborted")
    return head | {
        "commit/next": f"{cell.span('committed')} / {cell.span('next_offset')}",
        "skipped": Cell(skipped, "bad", strong=True) if any(run.skipped for run in cell.proved) else skipped,
        "twice": cell.span("twice"),
        "gap s": cell.span("longest_gap"),
        "two at once s": cell.span("shared_seconds"),
        "aborted": Cell(aborted, "bad", strong=True) if any(run.aborted for run in cell.proved) else aborted,
        "markers": cell.span("markers"),
        "whose": cell.whose,
    }


def consumer_doubts(result: ConsumersResult) -> Iterator[str]:
    """What is not in the table, and why."""
    for name, why in result.left_out.items():
        yield f"{name} was left out: {why}"
    for cell in result.cells:
        for run in cell.runs:
            if not run.counts:
                where = f"{cell.client}, {cell.mode}, {cell.situation}"
                yield f"{where}: a run proves nothing: {'; '.join(run.reasons)}"


def consumers_junit(result: ConsumersResult) -> str:
    """A test case for each run: it fails if the consumer did what at-least-once delivery does not allow, and
    is an error if the run proves nothing."""
    cases = (
        JunitCase(
            f"{cell.client}.{cell.mode}",
            f"{cell.situation} {number}",
            failed="" if not run.counts else run.wrong,
            undecided="" if run.counts else "; ".join(run.reasons) or "no reason is known",
        )
        for cell in result.cells
        for number, run in enumerate(cell.runs, 1)
    )
    return junit_of("kafka-chaos clients --consumers", cases)


def write_consumer_pages(result: ConsumersResult, folder: Path) -> Path:
    """Write report.html, consumers.md and consumers.junit.xml; returns the first's path.

    Raises:
        KafkaChaosError: one cannot be written.
    """
    page = consumers_page(result)
    texts = {
        html.REPORT_FILE: html.render(page, folder),
        CONSUMERS_MARKDOWN: markdown.render(page),
        CONSUMERS_JUNIT: consumers_junit(result),
    }
    return html.save_pages(
        texts.items(),
        folder,
        what="the report of the comparison",
        next_step=f"free space, then `kafka-chaos clients --consumers --from {folder}` writes it again",
    )
