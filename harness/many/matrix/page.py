"""The page of a matrix, which a terminal, report.html and matrix.md show; its figures as CSV and JUnit."""

from __future__ import annotations

import csv
import io
import itertools
import shlex
from pathlib import Path
from xml.etree import ElementTree as Xml

from pydantic import ValidationError

from checkers import judge
from harness.many.matrix.charts import measures
from harness.many.matrix.done import one_run_in_words, what_was_done
from harness.many.matrix.expected import kept_in_words
from harness.many.matrix.result import MatrixArmResult, MatrixResult, RunRow
from harness.many.matrix.service_levels import service_levels
from harness.many.matrix.table import ONE_SIDED, notes, reasons, table
from harness.model.errors import JournalError
from harness.model.finding_class import FindingClass
from harness.model.journal import SUMMARY_FILE
from harness.model.result import ArmResult, Summary
from harness.model.run import RunMeta
from harness.report.arm_section import arm_section
from harness.report.ci import add_outcome, set_counts, xml_text
from harness.report.page import html, markdown
from harness.report.page.blocks import (
    Cell,
    Code,
    Lines,
    Page,
    Section,
    Status,
    Table,
    Text,
    section,
    status_of,
)

CSV_FILE, MARKDOWN_FILE, JUNIT_FILE = "matrix.csv", "matrix.md", "matrix.junit.xml"
MOST_SECTIONS = 12
"""Arms of which one run is shown whole; those that lose most go first."""
MOST_REPLAYS = 50


def write_pages(result: MatrixResult, folder: Path, page: Page | None = None) -> Path:
    """Write report.html, matrix.csv, matrix.md and matrix.junit.xml; returns the first's path. `page`: what
    the first and the third show (None: `matrix_page`). Journals of the runs that the report shows are read
    from `folder`.

    Raises:
        KafkaChaosError: one cannot be written.
    """
    page = page or matrix_page(result, worst_runs(result, folder))
    texts = {
        html.REPORT_FILE: html.render(page, folder),
        CSV_FILE: csv_text(result),
        MARKDOWN_FILE: markdown.render(page),
        JUNIT_FILE: junit_text(result),
    }
    return html.save_pages(
        texts.items(),
        folder,
        what="the report of the matrix",
        next_step="free space or correct its permissions; matrix.json has all that the report shows",
    )


def matrix_page(result: MatrixResult, arms: tuple[Section, ...] = ()) -> Page:
    """The page of a matrix. `arms` are sections about single runs, of which it shows the first."""
    unfinished = "" if result.ended == "all runs made" else f"Not all runs were made: {result.ended}."
    refusals = list(reasons(result).values())
    return Page(
        kind="matrix",
        name=result.name,
        title=result.title,
        started_ns=result.started_ns,
        headline=headline(result),
        status=overall(result),
        blocks=(
            Text(result.description, only="html"),
            Text(what_was_done(result)),
            Text(unfinished, status="unclear", only="html"),
            *measures(result),
            section(
                "Configurations without runs",
                Lines([Cell(line, id=f"note-{n}") for n, line in enumerate(refusals, 1)], ordered=True),
                id="not-run",
                only="html",
            ),
            section(
                "All figures",
                table(result),
                Lines(refusals, only="terminal markdown"),
                Lines(list(notes(result))),
                _unit(result),
                id="arms",
            ),
            service_levels(result),
            *worst_first(arms),
            how_measured(result),
        ),
    )


def _unit(result: MatrixResult) -> Text:
    runs = [run for arm in result.arms for run in arm.runs]
    left_out = sum(not run.counts for run in runs)
    return Text(
        "The unit is the run: losses come in bursts, so records within a run are not independent. Shares of "
        "runs have Clopper-Pearson intervals, rates per million a bootstrap over runs, at 95 %. "
        f"{ONE_SIDED} Runs of verdict `unknown` count nowhere ({left_out} of {len(runs)} here).",
        note=True,
        only="html",
    )


def worst_first(arms: tuple[Section, ...]) -> tuple[Section, ...]:
    """The first of these sections about single runs, below their title."""
    hidden = len(arms) - MOST_SECTIONS
    more = f" {hidden} more have no section here; their folders lie beside this file." if hidden > 0 else ""
    about = f"Of each configuration the run that found most.{more}" if arms else ""
    title = "One run of each, the worst first"
    return section(title, Text(about, note=True), id="worst", only="html"), *arms[:MOST_SECTIONS]


def how_measured(result: MatrixResult) -> Section:
    """How many runs there were, of which Kafka, and the commands that make them again."""
    runs = [run for arm in result.arms for run in arm.runs]
    images = sorted(
        {f"{run.kafka_version} `{run.image_digest or 'no digest'}`" for run in runs if run.kafka_version}
    )
    broken = [run for run in runs if run.as_promised is False][:MOST_REPLAYS]
    replays = [
        (f"{run.arm} {run.repeat + 1}", f"`kafka-chaos run --replay {shlex.quote(run.folder)}`")
        for run in broken
    ]
    facts = (
        f"Runs: {len(runs)}, in random order by the seed, each to a topic of its own",
        f"Kafka: {', '.join(images) or 'no run told'}",
        f"Seed: {result.seed}",
        f"Took: {result.seconds:.0f} s",
    )
    about = "One run that broke its promise, from this folder:"
    replay = Table(("run", "command"), replays, title=about, only="html")
    again = section("Run it again", Code(result.command), replay)
    return section("How it was measured", Lines(facts), again, id="how", only="html markdown")


def overall(result: MatrixResult) -> Status:
    """The status of the headline: it is never good while a configuration lost or duplicated records."""
    findings = any(
        share.k
        for arm in result.arms
        if arm.figures is not None
        for share in (arm.figures.with_loss, arm.figures.with_unconfirmed_absent, arm.figures.with_duplicates)
    )
    status = status_of(result.exit_code())
    return "unclear" if status == "good" and findings else status


def headline(result: MatrixResult) -> str:
    """The outcome in one line."""
    ran = [(arm, arm.figures) for arm in result.arms if arm.figures is not None and arm.figures.runs]
    if not ran:
        return "No result: no run has a known verdict"
    losing = sum(figures.with_loss.k > 0 for _, figures in ran)
    doubling = sum(figures.with_duplicates.k > 0 for _, figures in ran)
    runs = sum(figures.runs for _, figures in ran)
    lost = f"{losing or 'None'} of {len(ran)} configurations lost acknowledged records"
    doubled = f"{doubling} duplicated some" if doubling else "none duplicated any"
    outcome = f"{lost}, {doubled}, in {runs:,} runs; {kept_in_words(result)}"
    return "; ".join(filter(None, (outcome, one_run_in_words(result))))


def worst_runs(result: MatrixResult, folder: Path) -> tuple[Section, ...]:
    """The worst run of each arm whose files can be read, those of the arms that lose most first."""
    worst = (_worst_run(arm, folder) for arm in sorted(result.arms, key=_badness, reverse=True))
    known = (arm for arm in worst if arm is not None)
    return tuple(arm_section(arm, folder, number) for number, arm in enumerate(known, 1))


def _badness(arm: MatrixArmResult) -> tuple[float, float]:
    if arm.figures is None:
        return (0.0, 0.0)
    return (arm.figures.lost_per_million.value or 0.0, arm.figures.duplicates_per_million.value or 0.0)


def _worst_run(arm: MatrixArmResult, folder: Path) -> ArmResult | None:
    def badness(run: RunRow) -> tuple[bool, int]:
        return run.as_promised is not True, run.count(FindingClass.LOST) + run.count(FindingClass.DUPLICATE)

    for run in sorted((run for run in arm.runs if run.counts), key=badness, reverse=True):
        try:
            meta = RunMeta.load(folder / run.folder)
            summary = Summary.model_validate_json((folder / run.folder / SUMMARY_FILE).read_text())
        except (JournalError, OSError, ValidationError):
            continue
        return ArmResult(folder=run.folder, meta=meta, summary=summary, judgement=judge(meta, summary))
    return None


def csv_text(result: MatrixResult) -> str:
    """One row per arm: its levels, its state, runs that count and not, and each figure with its interval."""
    axes, target = result.axes, io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    figures = ("lost_per_million", "unconfirmed_absent_per_million", "duplicates_per_million")
    ends = ("", "_low", "_high")
    writer.writerow(
        [
            *("arm", *axes, "state", "runs", "left_out", "runs_with_loss", "loss_low", "loss_high"),
            *(f"{name}{end}" for name, end in itertools.product(figures, ends)),
            *("unavailable_seconds_median", "as_promised"),
        ]
    )
    for arm in result.arms:
        measured = arm.figures
        row: list[object] = [arm.name, *(arm.labels[axis] for axis in axes), arm.state]
        if measured is not None:
            share = measured.with_loss
            row += [measured.runs, measured.left_out, share.k, share.low, share.high]
            for name in figures:
                figure = getattr(measured, name)
                row += [figure.value, figure.low, figure.high]
            row += [measured.unavailable_seconds.median, measured.as_promised.k]
        writer.writerow(row)
    return target.getvalue()


def junit_text(result: MatrixResult) -> str:
    """One suite, one case per arm: a failure if any run broke its promise, an error if no run has a known
    verdict, skipped if the client refused it or it is impossible on this machine."""
    suite = Xml.Element("testsuite", name=xml_text(result.name), time=f"{result.seconds:.1f}")
    for arm in result.arms:
        seconds = sum(run.seconds for run in arm.runs)
        case = Xml.SubElement(
            suite, "testcase", classname=xml_text(result.name), name=xml_text(arm.name), time=f"{seconds:.1f}"
        )
        broken = [run for run in arm.runs if run.as_promised is False]
        if broken:
            lines = [f"{run.folder}, seed {run.seed}: {'; '.join(run.reasons)}" for run in broken]
            add_outcome(
                case, "failure", f"{len(broken)} of {len(arm.runs)} runs broke the promise", "\n".join(lines)
            )
        elif arm.state in ("refused", "impossible"):
            add_outcome(case, "skipped", arm.state, arm.reason or "")
        elif arm.as_promised is None:
            add_outcome(case, "error", "no run has a known verdict", "\n".join(arm.left_out))
    set_counts(suite)
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    Xml.indent(suite)
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
