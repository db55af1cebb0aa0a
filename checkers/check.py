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
from checkers.facts.columns import WIDTH
from checkers.facts.deliveries import SHARE_ROWS, Unit
from checkers.facts.encoding import spot_number
from checkers.facts.measure import PlanName, RunFacts, measure
from checkers.facts.replicas import ReplicaLog
from checkers.finding_tasks import (
    FindingsContext,
    FindingTask,
    OfBlock,
    OfDeliveries,
    OfGroup,
    OfReplicas,
    OfShare,
    OfValues,
)
from checkers.findings.application_history import ApplicationHistory, read_application
from checkers.findings.delivery_findings import units_of
from checkers.findings.evidence import RunNames
from checkers.findings.leadership_history import LeadershipHistory, read_leadership
from checkers.findings.newest_keys import find_newest_on_spark
from checkers.findings.output_findings import OutputNames
from checkers.findings.ownerless import ownerless_times
from checkers.findings.progress_findings import group_files
from checkers.findings.record_context import LogBounds, Policy
from checkers.findings.share_counts import share_counts
from checkers.findings.share_findings import ShareFiles
from checkers.findings.table import findings_table, write_findings
from checkers.heap import kept_heap
from checkers.journals.footers import row_groups
from checkers.journals.load import RunJournals, load_run
from checkers.judgement.output_rules import output_rules
from checkers.judgement.partial import PartialSummary
from checkers.judgement.policy import compacts, retention
from checkers.judgement.summary import summarise
from checkers.output_tasks import output_tasks
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
        context, problems = _findings_context(journals, facts, target)
        if runner is on_spark and context.policy.compacts and facts.selected:
            find_newest_on_spark(on_spark.session(), journals.files, facts.context)
            context = replace(context, newest_on_spark=True)
        found = PartialSummary.merged(runner.run(context, _finding_tasks(journals, facts, context)))
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


def _findings_context(
    journals: RunJournals, facts: RunFacts, target: StoragePath
) -> tuple[FindingsContext, list[str]]:
    """What the tasks that write findings need, and the problem if the brokers' samples cannot be read."""
    meta, files, topics = journals.meta, journals.files, facts.context.topics
    leadership, problem = attempt("blame", lambda: read_leadership(files.samples, meta.topic))
    final = meta.final_read
    bounds = tuple(
        LogBounds(
            spot_number(bound.topic, bound.partition, topics),
            bound.leader,
            bound.log_start_offset,
            bound.end_offset,
        )
        for bound in (final.bounds if final else ())
    )
    policy = Policy(
        newest_deletable_ns=retention(meta.topic_config, meta.cluster.properties).newest_deletable_ns(
            final.finished_ns if final else None
        ),
        compacts=facts.context.compacts,
        transactional=facts.context.transactional,
        deleted_before=max((one.before for one in meta.deletions if one.before is not None), default=None),
        recreated_ns=max((one.at_ns for one in meta.deletions if one.before is None), default=None),
    )
    context = FindingsContext(
        run=facts.context,
        names=RunNames(
            run=meta.run_id,
            topics=topics,
            readers=tuple(reader.name for reader in journals.readers),
            windows=tuple(meta.windows),
            leadership=leadership or LeadershipHistory(()),
        ),
        bounds=bounds,
        policy=policy,
        final=tuple(row_groups(files.final, identities=False)),
        blocks=facts.blocks,
        replicas_read=bool(files.replicas),
        newest_on_spark=False,
        target=str(target),
    )
    problems = [problem] if problem else []
    if facts.outputs is not None:
        history, problem = attempt(
            "blame", lambda: read_application(files.application, topics.index(meta.topic))
        )
        problems += [problem] if problem else []
        names = OutputNames(topics, tuple(meta.windows), history or ApplicationHistory())
        context = replace(context, outputs=names)
    return context, problems


def _finding_tasks(journals: RunJournals, facts: RunFacts, context: FindingsContext) -> list[FindingTask]:
    """Tasks for the records of blocks, damaged values, deliveries and replicas."""
    files = journals.files
    tasks = [FindingTask(f"{number:06}", OfBlock(number)) for number in facts.selected]
    bad = {spot: ranges for spot, ranges in facts.held.bad.items() if len(ranges.start)}
    damaged = [
        group
        for group in context.final
        if any(
            group.may_hold(spot % WIDTH, int(ranges.start[0]), int(ranges.end[-1]))
            for spot, ranges in bad.items()
        )
    ]
    tasks += output_tasks(journals.files.outputs, facts.outputs)
    tasks += [
        FindingTask(f"values-{number:06}", OfValues(tuple(damaged[begin : begin + _GROUPS])))
        for number, begin in enumerate(range(0, len(damaged), _GROUPS))
    ]
    commits = tuple(file.path for file in files.commits)
    progress = group_files(journals)
    silent: list[Unit] = []
    for number, unit in enumerate(units_of(journals)):
        parts = max(1, -(-unit.rows // SHARE_ROWS))
        tasks += [
            FindingTask(f"deliveries-{number:04}-{part:04}", OfDeliveries(unit, part, parts, commits))
            for part in range(parts)
        ]
        if unit.group and unit.rows:
            tasks += [
                FindingTask(f"groups-{number:04}-{part:04}", OfGroup((unit,), part, parts, progress))
                for part in range(parts)
            ]
        elif unit.group:
            silent.append(unit)
    # Steps may commit for very many groups that read nothing: one task reads the journals once for all.
    if silent:
        tasks.append(FindingTask("groups-silent", OfGroup(tuple(silent), 0, 1, progress)))
    if journals.meta.share:
        share = ShareFiles(
            *(
                tuple(file.path for file in one)
                for one in (files.deliveries, files.share_offsets, files.share_events)
            )
        )
        brokers = journals.meta.cluster.properties
        tasks += [
            FindingTask(f"share-{number:04}", OfShare(info, share, tuple(brokers.items())))
            for number, info in enumerate(journals.meta.share)
        ]
    if files.replicas and context.bounds:
        groups = row_groups(files.replicas, identities=False)
        logs = [ReplicaLog.of(bound.spot, bound.leader, bound.end_offset, groups) for bound in context.bounds]
        tasks += [
            FindingTask(f"replicas-{number:06}", OfReplicas(log))
            for number, log in enumerate(logs)
            if log.groups
        ]
    return tasks


_GROUPS = 16
"""Row groups with damaged values that one task reads."""


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
