"""The check of one run folder, from journals to `findings/` and `summary.json`."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from checkers.checks.run import attempt
from checkers.facts.availability import unavailable_seconds
from checkers.facts.measure import PlanName, measure
from checkers.finding_plan import finding_tasks, findings_context
from checkers.findings.newest_keys import find_newest_on_spark
from checkers.findings.ownerless import ownerless_times
from checkers.findings.share_counts import share_counts
from checkers.findings.table import findings_table, write_findings
from checkers.heap import kept_heap
from checkers.journals.load import load_run
from checkers.judgement.output_rules import output_rules
from checkers.judgement.partial import PartialSummary
from checkers.judgement.policy import compacts
from checkers.judgement.summary import summarise
from checkers.running import LOCAL_ROWS, OnSpark, Runner, ThisProcess
from harness.model.errors import CheckError
from harness.model.journal import FINDINGS_DIR, SUMMARY_FILE
from harness.model.result import Summary
from harness.model.storage import StoragePath, scratch_in, write_whole


def check_run(
    spark: SparkSession | Callable[[], SparkSession],
    folder: StoragePath,
    *,
    results: StoragePath | None = None,
    reads_folder: StoragePath | None = None,
    plan: PlanName | None = None,
    block_rows: int | None = None,
    local_rows: int = LOCAL_ROWS,
) -> Summary:
    """Classify every record of a saved run; write `findings/` (Parquet) and `summary.json` into its folder.

    Results of an earlier check of the folder are replaced; the journals are only read. If the check of a
    class fails, the summary has a problem, so the verdict is unknown.

    Args:
        spark: a session, or a function that gives one, which is called if the run is not small.
        results: write to this folder instead; on a Spark cluster, its workers must be able to write to it.
        reads_folder: the journal of the final read, if it is not the run's own.
        plan: how the rows of a block come together (None: chosen from the files' footers).
        block_rows: number of sends whose facts one task computes (None: as many as suit where it runs).
        local_rows: a run with up to as many rows in all journals is small: the same tasks run in this
            process, without Spark.

    Raises:
        JournalError: the folder or a journal of it cannot be read (`checkers.journals.load.load_run`).
        CheckError: Spark failed.
    """
    started = time.perf_counter()
    folder = folder.resolve()
    results = folder if results is None else _make_folder(results.resolve())
    on_spark = OnSpark(spark if callable(spark) else lambda: spark)
    with _failures_as_check_errors(folder), kept_heap(), _scratch(results) as scratch:
        journals = load_run(folder, reads_folder=reads_folder)
        # A check that fails must not leave the answer of an earlier one behind.
        (results / SUMMARY_FILE).unlink(missing_ok=True)
        runner: Runner = ThisProcess() if journals.files.rows <= local_rows else on_spark
        facts = measure(
            journals,
            scratch,
            runner,
            on_spark,
            compacts=compacts(journals.meta.topic_config, journals.meta.cluster.properties),
            outputs=output_rules(journals.meta),
            force=plan,
            block_rows=block_rows,
        )
        target = results / FINDINGS_DIR
        _empty(target)
        context, problems = findings_context(journals, facts, target)
        if runner is on_spark and context.policy.compacts and facts.selected:
            find_newest_on_spark(on_spark.session(), journals.files, facts.context)
            context = replace(context, newest_on_spark=True)
        found = PartialSummary.merged(runner.run(context, finding_tasks(journals, facts, context)))
        if not found.groups:
            write_findings(findings_table(0, {}), target / "part-none.parquet")
        if not found.cells_complete:
            from checkers.judgement.cells_on_spark import count_cells

            found.cells = count_cells(on_spark.session(), target)
        problems = [*journals.problems, *facts.problems, *problems, *found.problems]
        if facts.repeated:
            problems.append(
                f"the sends journal holds {facts.repeated:,} sends more than once, so the verdict is unknown"
            )
        without_owner, problem = attempt(
            "owners of partitions", lambda: ownerless_times(journals, facts.context.numbers)
        )
        problems += [problem] if problem else []
        shares, problem = attempt("share groups", lambda: share_counts(journals, facts.context.numbers))
        problems += [problem] if problem else []
        summary = summarise(
            found,
            journals.meta,
            facts,
            unavailable_seconds=unavailable_seconds(facts.reports, journals.meta),
            ownerless=without_owner,
            shares=shares,
            problems=tuple(problems),
        )
    summary = summary.model_copy(update={"check_seconds": round(time.perf_counter() - started, 3)})
    _save(summary, results / SUMMARY_FILE)
    return summary


def _empty(findings: StoragePath) -> None:
    """Make the folder of findings, without the parts of an earlier check."""
    if findings.exists():
        shutil.rmtree(findings) if isinstance(findings, Path) else findings.remove()
    findings.mkdir(parents=True)


@contextmanager
def _scratch(folder: StoragePath) -> Iterator[StoragePath]:
    """A temporary folder next to the results, for files that tasks write for each other."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(scratch_in(folder))
        except OSError:
            # The folder cannot be written to; whatever reads it next raises the error that says why.
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-chaos-check-")))
        yield path


def _make_folder(results: StoragePath) -> StoragePath:
    try:
        results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckError(
            "the folder for the results of the check cannot be made",
            where=str(results),
            expected="a folder that can be written to",
            found=error.strerror or str(error),
            next_step="name another folder with --results",
        ) from error
    return results


def _save(summary: Summary, target: StoragePath) -> None:
    try:
        write_whole(target, summary.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise CheckError(
            "the summary of the check cannot be written",
            where=str(target),
            expected="a folder that can be written to",
            found=str(error),
            next_step="correct its permissions, or name another folder with --results",
        ) from error


@contextmanager
def _failures_as_check_errors(folder: StoragePath) -> Iterator[None]:
    try:
        yield
    except (Py4JError, PySparkException, ConnectionError, OSError, pa.ArrowException) as error:
        raise CheckError(
            "the check failed; the journals are untouched",
            where=str(folder),
            found=_first_line(error),
            next_step=f"check memory and disk space, then run `kafka-chaos check {folder.name}` again",
        ) from error


def _first_line(error: Exception) -> str:
    """The first line of Spark's deepest cause, which says for example that the disk is full."""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = cause.toString()
    causes = [line for line in text.splitlines() if line.strip()]
    deepest = [line.removeprefix("Caused by: ") for line in causes if line.startswith("Caused by: ")]
    return (deepest[-1:] or causes[:1] or [type(error).__name__])[0]
