"""The check of one run folder, from journals to `findings/` and `summary.json`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from checkers.checks.run import attempt, claimed
from checkers.facts.availability import unavailable_seconds
from checkers.facts.measure import PlanName, RunFacts, measure
from checkers.facts.planning import BLOCK_ROWS
from checkers.findings.delivery_findings import deliveries, replicas
from checkers.findings.evidence import FINDINGS, corrupt_deliveries, corrupt_values, evidence
from checkers.findings.leadership_history import LeadershipHistory, beliefs
from checkers.findings.record_context import prepare
from checkers.journals.load import RunFrames, load_run, read_parquet
from checkers.judgement.summary import summarise
from harness.model.errors import CheckError
from harness.model.journal import FINDINGS_DIR, SUMMARY_FILE
from harness.model.result import Summary
from harness.model.storage import StoragePath, scratch_in, spark_path, write_whole


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

    Results of an earlier check of the folder are replaced; the journals are only read. A check of a class
    that fails is a problem of the summary, so the verdict is unknown.

    Args:
        results: write there instead; with a cluster, a place that its workers can write to.
        reads_folder: the journal of the final read, if it is not the run's own.
        plan: how the rows of a block come together (None: by what the files' footers tell).
        block_rows: sends that one task tells of.

    Raises:
        JournalError: the folder or a journal of it cannot be read (`checkers.journals.load.load_run`).
        CheckError: Spark failed.
    """
    started = time.perf_counter()
    folder = folder.resolve()
    results = folder if results is None else _made(results.resolve())
    with _told_to_the_user(folder), _scratch(results) as scratch:
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
            read_parquet(spark, FINDINGS, results / FINDINGS_DIR),
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
    """Returns what failed."""
    rows, problems = claimed(prepare(frames, facts), "record")
    belief = LeadershipHistory(())
    if frames.files.samples and facts.count:
        read, problem = attempt("blame", lambda: beliefs(frames.files.samples, frames.meta.topic))
        belief = read or belief
        problems += [problem] if problem else []
    records = evidence(rows, frames, facts, belief, facts.count)
    if any(len(ranges.start) for ranges in facts.held.bad.values()):
        records = records.unionByName(corrupt_values(frames))
    if frames.live is not None:
        records = records.unionByName(corrupt_deliveries(frames, frames.live))
    records.write.mode("overwrite").parquet(spark_path(target))

    def of_deliveries() -> list[str]:
        told = deliveries(frames, facts, scratch)
        if told is None:
            return []
        told[0].write.mode("append").parquet(spark_path(target))
        return told[1]

    def of_replicas() -> list[str]:
        found = replicas(frames, facts)
        if found is not None:
            found.write.mode("append").parquet(spark_path(target))
        return []

    for name, work in (("deliveries", of_deliveries), ("replicas", of_replicas)):
        more, problem = attempt(name, work)
        problems += [*(more or ()), *([problem] if problem else [])]
    return problems


@contextmanager
def _scratch(folder: StoragePath) -> Iterator[StoragePath]:
    """A folder beside the results, for what tasks write for each other."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(scratch_in(folder))
        except OSError:
            # Not a folder that can be written to: what is wrong with it is said by whoever reads it.
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-chaos-check-")))
        yield path


def _made(results: StoragePath) -> StoragePath:
    try:
        results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckError(
            "there can be no folder for what the check finds",
            where=str(results),
            expected="a place that can be written to",
            found=error.strerror or str(error),
            next_step="name another place with --results",
        ) from error
    return results


def _save(summary: Summary, target: StoragePath) -> None:
    try:
        write_whole(target, summary.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise CheckError(
            "the summary of the check cannot be written",
            where=str(target),
            expected="a place that can be written to",
            found=str(error),
            next_step="correct its permissions, or name another place with --results",
        ) from error


@contextmanager
def _told_to_the_user(folder: StoragePath) -> Iterator[None]:
    try:
        yield
    except (Py4JError, PySparkException, ConnectionError, OSError, pa.ArrowException) as error:
        raise CheckError(
            "Spark failed while checking; the journals are untouched",
            where=str(folder),
            found=_first_line(error),
            next_step=f"see that memory and disk suffice, then run `kafka-chaos check {folder.name}` again",
        ) from error


def _first_line(error: Exception) -> str:
    """What Spark's deepest cause says, which is the one that tells the disk is full or a page is damaged."""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = cause.toString()
    causes = [line for line in text.splitlines() if line.strip()]
    deepest = [line.removeprefix("Caused by: ") for line in causes if line.startswith("Caused by: ")]
    return (deepest[-1:] or causes[:1] or [type(error).__name__])[0]
