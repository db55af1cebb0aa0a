"""The check of one run folder, from journals to `findings/` and `summary.json`."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from checkers.checks.run import attempt, run_checks
from checkers.facts.availability import unavailable_seconds
from checkers.facts.measure import PlanName, RunFacts, measure
from checkers.facts.planning import BLOCK_ROWS
from checkers.findings.delivery_findings import deliveries, replicas
from checkers.findings.evidence import FINDINGS, corrupt_deliveries, corrupt_values, evidence
from checkers.findings.leadership_history import LeadershipHistory, read_leadership
from checkers.findings.record_context import with_context
from checkers.journals.load import RunFrames, load_run, read_parquet
from checkers.judgement.summary import summarise
from harness.model.errors import CheckError
from harness.model.journal import FINDINGS_DIR, SUMMARY_FILE
from harness.model.result import Summary
from harness.model.storage import (
    StoragePath,
    matching,
    open_parquet,
    scratch_in,
    spark_path,
    write_parquet,
    write_whole,
)


def check_run(
    spark: SparkSession,
    folder: StoragePath,
    *,
    results: StoragePath | None = None,
    reads_folder: StoragePath | None = None,
    plan: PlanName | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Summary:
    """Classify every record of a saved run; write `findings/` (Parquet) and `summary.json` into its folder.

    Results of an earlier check of the folder are replaced; the journals are only read. If the check of a
    class fails, the summary has a problem, so the verdict is unknown.

    Args:
        results: write to this folder instead; on a Spark cluster, its workers must be able to write to it.
        reads_folder: the journal of the final read, if it is not the run's own.
        plan: how the rows of a block come together (None: chosen from the files' footers).
        block_rows: number of sends whose facts one task computes.

    Raises:
        JournalError: the folder or a journal of it cannot be read (`checkers.journals.load.load_run`).
        CheckError: Spark failed.
    """
    started = time.perf_counter()
    folder = folder.resolve()
    results = folder if results is None else _make_folder(results.resolve())
    with _failures_as_check_errors(folder), _scratch(results) as scratch:
        frames = load_run(spark, folder, reads_folder=reads_folder)
        # A check that fails must not leave the answer of an earlier one behind.
        (results / SUMMARY_FILE).unlink(missing_ok=True)
        facts = measure(frames, scratch, force=plan, block_rows=block_rows)
        problems = [*frames.problems, *facts.problems]
        problems += _write_findings(frames, facts, results / FINDINGS_DIR, scratch)
        if facts.repeated:
            problems.append(
                f"the sends journal holds {facts.repeated:,} sends more than once, so the verdict is unknown"
            )
        summary = summarise(
            read_parquet(spark, FINDINGS, results / FINDINGS_DIR)
            if _any_in(results / FINDINGS_DIR)
            else None,
            frames.meta,
            facts,
            unavailable_seconds=unavailable_seconds(facts.reports, frames.meta),
            problems=tuple(problems),
        )
    summary = summary.model_copy(update={"check_seconds": round(time.perf_counter() - started, 3)})
    _save(summary, results / SUMMARY_FILE)
    return summary


def _write_findings(
    frames: RunFrames, facts: RunFacts, target: StoragePath, scratch: StoragePath
) -> list[str]:
    """Write the findings of records, deliveries and replicas; returns the problems of what failed."""
    parts: list[DataFrame] = []
    problems: list[str] = []
    if facts.count:
        rows, problems = run_checks(with_context(frames, facts), "record")
        leadership = LeadershipHistory(())
        if frames.files.samples:
            found, problem = attempt(
                "blame", lambda: read_leadership(frames.files.samples, frames.meta.topic)
            )
            leadership = found or leadership
            problems += [problem] if problem else []
        parts.append(evidence(rows, frames, facts, leadership, facts.count))
    if any(len(ranges.start) for ranges in facts.held.bad.values()):
        parts.append(corrupt_values(frames))
    if frames.live is not None:
        parts.append(corrupt_deliveries(frames, frames.live))
    if parts:
        reduce(DataFrame.unionByName, parts).write.mode("overwrite").parquet(spark_path(target))
    else:
        _write_none(target)

    def write_deliveries() -> list[str]:
        found = deliveries(frames, facts, scratch)
        if found is None:
            return []
        findings, failed = found
        findings.write.mode("append").parquet(spark_path(target))
        return failed

    def write_replicas() -> list[str]:
        found = replicas(frames, facts)
        if found is not None:
            found.write.mode("append").parquet(spark_path(target))
        return []

    for name, work in (("deliveries", write_deliveries), ("replicas", write_replicas)):
        more, problem = attempt(name, work)
        problems += [*(more or ()), *([problem] if problem else [])]
    return problems


def _write_none(target: StoragePath) -> None:
    """Findings without a row. Spark would take a fifth of a second for them."""
    if target.exists():
        shutil.rmtree(target) if isinstance(target, Path) else target.remove()
    target.mkdir(parents=True)
    write_parquet(to_arrow_schema(FINDINGS).empty_table(), target / "part-none.parquet")


def _any_in(findings: StoragePath) -> bool:
    for part in matching(findings, "*.parquet"):
        with open_parquet(part) as file:
            if file.metadata.num_rows:
                return True
    return False


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
            "Spark failed while checking; the journals are untouched",
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
