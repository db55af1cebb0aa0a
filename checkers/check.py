"""The check of one run folder: journals, records, classes, evidence, `findings/`, `summary.json`."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.beside import beside
from checkers.classes.classify import attempt
from checkers.deliveries.find import find_damaged
from checkers.engine.connect import engine_name
from checkers.engine.failures import engine_failures
from checkers.evidence.counts import count_findings
from checkers.evidence.findings import FINDINGS
from checkers.found import Found
from checkers.journals.footers import row_count
from checkers.journals.load import unknown_values, unread_sends
from checkers.journals.views import QUICKLY, Scratch, Views, engine_path, read_parquet
from checkers.judgement.summary import summarise
from checkers.records import find as records
from checkers.records.chunks import SEQ_CHUNK_BITS
from checkers.records.idle import idle_faults
from checkers.records.reports import reports_of
from checkers.registry import SUBJECTS, load_whole_run
from checkers.sql import ddl
from harness.model.errors import CheckError
from harness.model.finding_class import BY_ABSENCE
from harness.model.journal import FINDINGS_DIR, SUMMARY_FILE
from harness.model.result import Summary
from harness.model.storage import StoragePath, scratch_in, write_parquet, write_whole


def check_run(
    spark: SparkSession | Callable[[], SparkSession],
    folder: StoragePath,
    *,
    results: StoragePath | None = None,
    reads_folder: StoragePath | None = None,
    chunk_bits: int = SEQ_CHUNK_BITS,
) -> Summary:
    """Classify every record of a saved run; write `findings/` (Parquet) and `summary.json` into its folder.

    Results of an earlier check of the folder are replaced; the journals are only read. If the check of a
    class fails, the summary has a problem, so the verdict is unknown. A check that cannot begin, because a
    journal or the engine is not there, leaves the results of an earlier one; one that fails later leaves no
    summary.

    Args:
        spark: a session of any engine, or a function that gives one, which is called when the folder is known
            to be one that can be checked.
        results: write to this folder instead; on a Spark cluster, its workers must be able to write to it.
        reads_folder: the journal of the final read, if it is not the run's own.
        chunk_bits: 2^chunk_bits sequence numbers are compared as a whole first
            (`checkers.records.chunks`).

    Raises:
        JournalError: the folder or a journal of it cannot be read (`checkers.journals.load.load_run`).
        CheckError: the engine failed.
    """
    started = time.perf_counter()
    folder = folder.resolve()
    results = folder if results is None else _make_folder(results.resolve())
    with engine_failures(folder), _scratch(results) as scratch_folder:
        journals = load_whole_run(folder, reads_folder=reads_folder)
        session = spark() if callable(spark) else spark
        # A check that fails from here on must not leave the answer of an earlier one behind.
        (results / SUMMARY_FILE).unlink(missing_ok=True)
        views, scratch = Views.of(session, journals), Scratch(session, scratch_folder)
        target = results / FINDINGS_DIR
        _empty(target)

        # What needs the journals only is counted while the records are looked at.
        reports = beside(lambda: reports_of(views.sends, views.reads, views.meta))
        active = (rows for subject in SUBJECTS if (rows := subject.active(views)) is not None)
        idle = beside(lambda: attempt("faults that hit nothing", lambda: idle_faults(views, active)))
        # Without an identity no record that was read is one of those that were sent.
        identified = views.meta.identified
        of_records, repeated = (
            records.find(views, scratch, chunk_bits=chunk_bits) if identified else (Found(), 0)
        )
        counted = replace(views, repeated_sends=repeated)
        parts = [
            of_records,
            Found(find_damaged(counted) if identified else None),
            *(subject.find(counted, scratch) for subject in SUBJECTS),
        ]
        evidence = [subject.evidence(views, scratch) for subject in SUBJECTS]

        def write(found: Iterable[Found]) -> None:
            for findings in (part.findings for part in found if part.findings is not None):
                if not views.meta.read_began:
                    findings = findings.where(~F.col("finding").isin(*BY_ABSENCE))
                for with_evidence in evidence:
                    findings = with_evidence(findings)
                findings.write.mode("append").options(**QUICKLY).parquet(engine_path(session, target))

        write(parts)
        if views.meta.ids is not None:
            written = _written(session, target)
            later = [subject.afterwards(counted, scratch, written) for subject in SUBJECTS]
            write(later)
            parts += later
        counts = count_findings(_written(session, target), views.meta, scratch)
        delivery_reports, (idle_names, not_idle) = reports.result(), idle.result()
        problems = [
            *journals.problems,
            *unknown_values(journals, delivery_reports.outcomes),
            *unread_sends(journals, delivery_reports.sends),
            *(problem for part in parts for problem in part.problems),
            *([not_idle] if not_idle else []),
        ]
        summary = summarise(
            counts,
            views.meta,
            delivery_reports,
            reads=row_count(journals.files["final"]),
            engine=engine_name(session),
            idle_faults=idle_names or (),
            **{name: value for part in parts for name, value in part.summary.items()},
            problems=tuple(dict.fromkeys(problems)),
        )
    changes = {} if identified else dict.fromkeys(("indeterminate_present", "unavailable_seconds"))
    seconds = round(time.perf_counter() - started, 3)
    summary = summary.model_copy(update={**changes, "check_seconds": seconds})
    _save(summary, results / SUMMARY_FILE)
    return summary


def _written(spark: SparkSession, target: StoragePath) -> DataFrame:
    """The findings that were written; an empty file if there are none, so that the journal can be read."""
    if not any(path.name.endswith(".parquet") for path in target.glob("*")):
        write_parquet(FINDINGS.empty_table(), target / "part-none.parquet")
    return read_parquet(spark, ddl(FINDINGS), target)


def _empty(findings: StoragePath) -> None:
    """Make the folder of findings, without the parts of an earlier check."""
    if findings.exists():
        shutil.rmtree(findings) if isinstance(findings, Path) else findings.remove()
    findings.mkdir(parents=True)


@contextmanager
def _scratch(folder: StoragePath) -> Iterator[StoragePath]:
    """A temporary folder next to the results, for intermediate results."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(scratch_in(folder))
        except OSError:
            # The folder cannot be written to; whatever reads it next raises the error that says why.
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-chaos-check-")))
        yield path


def _make_folder(results: StoragePath) -> StoragePath:
    with CheckError.for_os_errors(
        "the folder for the results of the check cannot be made",
        where=results,
        expected="a folder that can be written to",
        next_step="name another folder with --results",
    ):
        results.mkdir(parents=True, exist_ok=True)
    return results


def _save(summary: Summary, target: StoragePath) -> None:
    with CheckError.for_errors(
        OSError,
        "the summary of the check cannot be written",
        where=target,
        expected="a folder that can be written to",
        next_step="correct its permissions, or name another folder with --results",
    ):
        write_whole(target, summary.model_dump_json(indent=2) + "\n")
