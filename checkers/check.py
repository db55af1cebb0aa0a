"""The check of one run folder, from journals to `findings/` and `summary.json`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.availability import unavailable_seconds
from checkers.classify import classify
from checkers.evidence import FINDINGS, Needs, evidence
from checkers.load import RunFrames, load_run, read_parquet
from checkers.scan import Codes, scan
from checkers.summary import summarise
from harness.model.errors import CheckError
from harness.model.journal import FINDINGS_DIR, SUMMARY_FILE
from harness.model.places import Place, spark_path, write_whole
from harness.model.result import FindingClass, Summary


def check_run(
    spark: SparkSession, folder: Place, *, results: Place | None = None, reads_folder: Place | None = None
) -> Summary:
    """Classify every record of a saved run; write `findings/` (Parquet) and `summary.json` into its folder.

    Results of an earlier check of the folder are replaced; the journals are only read.

    Args:
        results: write there instead; with a cluster, a place that its workers can write to.
        reads_folder: the journal of the final read, if it is not the run's own.

    Raises:
        JournalError: the folder or a journal of it cannot be read (`checkers.load.load_run`).
        CheckError: Spark failed.
    """
    started = time.perf_counter()
    folder = folder.resolve()
    results = folder if results is None else _made(results.resolve())
    with _told_to_the_user(folder):
        frames = load_run(spark, folder, reads_folder=reads_folder)
        # A check that fails must not leave the answer of an earlier one behind.
        (results / SUMMARY_FILE).unlink(missing_ok=True)
        totals = scan(frames)
        repeated = _write_findings(frames, totals.codes, results / FINDINGS_DIR)
        problems = (*frames.problems, *totals.problems)
        if repeated:
            problems += (
                f"the sends journal holds {repeated:,} sends more than once, so the verdict is unknown",
            )
        summary = summarise(
            read_parquet(spark, FINDINGS, results / FINDINGS_DIR),
            frames.meta,
            totals,
            unavailable_seconds=unavailable_seconds(frames.sends, frames.meta),
            problems=problems,
        )
    summary = summary.model_copy(update={"check_seconds": round(time.perf_counter() - started, 3)})
    _save(summary, results / SUMMARY_FILE)
    return summary


def _write_findings(frames: RunFrames, codes: Codes, target: Place) -> int:
    """Returns how many sends the journal holds more than once."""
    found = classify(frames, codes).persist()
    try:
        repeated, needs = _needs(found)
        evidence(frames, codes, found, needs).write.mode("overwrite").parquet(spark_path(target))
    finally:
        found.unpersist()
    return repeated


def _needs(found: DataFrame) -> tuple[int, Needs]:
    row = found.agg(
        F.count_if(F.col("send_rows") > 1).alias("repeated"),
        F.count_if(F.col("finding").isNotNull() & (F.col("read_rows") > 1)).alias("several"),
        F.count_if(F.col("finding") == FindingClass.LOST.value).alias("lost"),
    ).collect()[0]
    return row.repeated, Needs(several=row.several, lost=row.lost)


def _made(results: Place) -> Place:
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


def _save(summary: Summary, target: Place) -> None:
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
def _told_to_the_user(folder: Place) -> Iterator[None]:
    try:
        yield
    except (Py4JError, PySparkException, ConnectionError) as error:
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
