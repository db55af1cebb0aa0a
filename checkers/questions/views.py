"""The views of a run, by the names that a query uses (among them `records`: what was sent beside what was
read, and what the check found), and queries over them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import chain, count
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.engine.failures import cause_of, is_failure, is_gone
from checkers.evidence.findings import FINDINGS, is_of
from checkers.journals.load import RunJournals
from checkers.journals.topic_partition import partition_of, topic_of
from checkers.journals.views import Views, is_embedded, read_parquet, readable
from checkers.questions.differences import differences_in
from checkers.questions.query import (
    FINDING_COLUMNS,
    QUERY_ERRORS,
    VIEW_DESCRIPTIONS,
    one_line,
    query_error,
    query_words,
)
from checkers.records.classes import CLASSES
from checkers.records.facts import facts_of_records, with_txn_outcome
from checkers.records.ids import have_names, names_of_records
from checkers.registry import load_whole_run
from checkers.sql import comparable, ddl
from harness.model.errors import CheckError
from harness.model.finding_class import FindingClass
from harness.model.journal import (
    ANSWERS,
    ANSWERS_DIR,
    CHECKPOINTS,
    CHECKPOINTS_DIR,
    FAULTS,
    FAULTS_FILE,
    FINDINGS_DIR,
    SUMMARY_FILE,
)
from harness.model.storage import StoragePath, matching

_FAULTS = (
    "name string, kind string, target string, opened_ns bigint, closed_ns bigint, verified boolean, "
    "evidence string"
)
_STEPS = "index int, name string, kind string, started_ns bigint, ended_ns bigint"


class RunViews(Mapping[str, DataFrame]):
    """The views of one run, each a DataFrame of PySpark: `views["records"]`.

    A run has `records`, `sends`, `reads`, `samples`, `faults` and `steps`, `findings` if it was checked, and
    each other journal of which it has files. `spark` is their session, `folder` the run's folder; `problems`
    are files that cannot be read, so that their rows are missing. docs/reference/journals.md describes the
    columns of journals, docs/how-to/ask-your-own-questions.md those of the other views.
    """

    def __init__(self, spark: SparkSession, folder: StoragePath, journals: RunJournals) -> None:
        self.spark = spark
        self.folder = folder
        self.problems = journals.problems
        self.checked = (folder / SUMMARY_FILE).exists()
        self._views = Views.of(spark, journals)
        makers = self._makers()
        self._make = {name: cache(makers[name]) for name in VIEW_DESCRIPTIONS if name in makers}

    def __getitem__(self, name: str) -> DataFrame:
        return self._make[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)

    def __repr__(self) -> str:
        return f"RunViews({str(self.folder)!r}: {', '.join(self)})"

    def sql(self, query: str) -> pa.Table:
        """The answer to a query in Spark's SQL over the views; `.to_pandas()` makes a DataFrame of pandas
        (with `types_mapper=pandas.ArrowDtype` integers beside nulls stay integers).
        Warns of what Sail may answer otherwise than Apache Spark.

        Raises:
            BadInput: the query is wrong.
            CheckError: the engine failed.
        """
        for difference in self.differences(query):
            warnings.warn(f"Sail may answer otherwise than Apache Spark. {difference}", stacklevel=2)
        return ask(self, query).table

    def differences(self, query: str) -> list[str]:
        """What the engine of these views may answer otherwise than Apache Spark, and what to write instead; a
        sentence each. Empty if it is Apache Spark."""
        return differences_in(query) if is_embedded(self.spark) else []

    def _makers(self) -> dict[str, Callable[[], DataFrame]]:
        """How each view that the run has is made."""
        meta, files = self._views.meta, self._views.files
        findings = partial(read_parquet, self.spark, ddl(FINDINGS), self.folder / FINDINGS_DIR)
        windows, steps = (
            [tuple(model.model_dump().values()) for model in of] for of in (meta.windows, meta.steps)
        )
        journals = ["reads", "samples", *(name for name in VIEW_DESCRIPTIONS if any(files.get(name, ())))]
        if files["txns"]:
            journals.append("transactions")
        makers: dict[str, Callable[[], DataFrame]] = {name: partial(self._journal, name) for name in journals}
        makers |= {
            "records": lambda: records_of(self._views, findings() if self.checked else None),
            "sends": lambda: self._journal("sends").drop("run"),
            "faults": lambda: self.spark.createDataFrame(windows, _FAULTS),
            "steps": lambda: self.spark.createDataFrame(steps, _STEPS),
        }
        for name, schema, paths in (
            ("answers", ANSWERS, matching(self.folder / ANSWERS_DIR, "part-*.parquet")),
            ("checkpoints", CHECKPOINTS, matching(self.folder / CHECKPOINTS_DIR, "part-*.parquet")),
            ("fault_events", FAULTS, matching(self.folder, FAULTS_FILE)),
        ):
            if paths:
                makers[name] = partial(read_parquet, self.spark, ddl(schema), *paths)
        if self.checked:
            makers["findings"] = findings
        return makers

    def _journal(self, name: str) -> DataFrame:
        """A journal with the columns of docs/reference/journals.md, without those that the pipeline adds."""
        views = self._views
        rows: DataFrame = getattr(views, name) if hasattr(views, name) else views.journal(name)
        return rows.drop("topic_partition", "read_committed")


def views_of(spark: SparkSession, folder: StoragePath) -> RunViews:
    """The views of a saved run.

    Raises:
        JournalError: as `checkers.journals.load.load_run`.
    """
    folder = folder.resolve()
    return RunViews(spark, folder, load_whole_run(folder))


class Answer(NamedTuple):
    """The rows of an answer. `more` says that the query has more rows than the limit."""

    table: pa.Table
    more: bool


def ask(views: RunViews, query: str, *, limit: int | None = None) -> Answer:
    """The answer to a query in Spark's SQL.

    Of several columns of one name, the later ones get a number behind it.

    Args:
        limit: the most rows to return; None: all.

    Raises:
        BadInput: the query is wrong; `found` is what the engine says.
        CheckError: the engine failed.
    """
    named = query_words(query)
    used = [name for name in views if name in named]
    try:
        for name in used:
            views[name].createOrReplaceTempView(name)
        rows = views.spark.sql(query.strip().removesuffix(";"))
        table: pa.Table = (rows if limit is None else rows.limit(limit + 1)).toArrow()
    except Exception as error:
        if not is_failure(error):
            raise
        cause = cause_of(error)
        if isinstance(error, QUERY_ERRORS) and not is_gone(error):
            raise query_error(query, cause, views, checked=views.checked, folder=views.folder) from error
        raise CheckError(
            "the engine failed while it answered the query; the journals are untouched",
            where=one_line(query),
            found=cause,
            next_step="check memory and disk space, or ask for less, then try again",
        ) from error
    finally:
        # A session may serve several runs: no query may find a view of another one.
        with suppress(Exception):
            for name in used:
                views.spark.catalog.dropTempView(name)
    table = table.rename_columns(_unique(table.column_names))
    return Answer(table.slice(0, limit), limit is not None and table.num_rows > limit)


def _unique(names: list[str]) -> list[str]:
    """The names, where one that occurs again gets a number behind it."""
    taken: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(2))
        taken.append(next(candidate for candidate in chain([name], numbered) if candidate not in taken))
    return taken


def records_of(views: Views, findings: DataFrame | None) -> DataFrame:
    """One row per record that was sent or read.

    Columns of the send (null if the record was never sent): `run` (bigint, the id of the run that wrote it),
    `producer` (int), `seq` (bigint), `topic` (string) and `partition` (int; of a record that was never sent
    where it was read from), `key` (bigint), `step` (int), `outcome` (string), `sent_ns`, `closed_ns`
    (bigint), `latency_ms` (double, from send to report of any outcome), `acked_offset` (bigint), `error`
    (string), `txn` (bigint), `txn_outcome` (string).

    Columns of what was read: `first_offset` (bigint, the least at which the final read holds it),
    `live_reader` (string) and `live_offset` (bigint) of a live reader. How often (bigint, never null):
    `times_sent`, the journal's rows of it; `times_read` by the final read; `times_read_committed` by that of
    committed records; `times_read_live` by live readers.

    Of a run of the user's own producers: `id` and `key_text` (string; null: it has none).

    Of a run that was checked (`findings` are rows of `FINDINGS`, else None): `finding`, `windows` and
    `detail` (string, of the finding about the record; null: there is none).
    """
    facts = facts_of_records(
        views, with_txn_outcome(views), views.reads.where(readable()), lambda rows: rows, repeated=True
    )
    where = F.coalesce("topic_partition", "read_from")
    rows = facts.select(
        *("run", "producer", "seq"),
        topic_of(where, views.topics).alias("topic"),
        partition_of(where).alias("partition"),
        *("key", "step", "outcome", "sent_ns", "closed_ns"),
        ((F.col("closed_ns") - F.col("sent_ns")) / 1e6).alias("latency_ms"),
        *("acked_offset", "error", "txn", "txn_outcome", "first_offset", "live_reader", "live_offset"),
        F.col("send_rows").alias("times_sent"),
        F.col("read_rows").alias("times_read"),
        F.col("committed_rows").alias("times_read_committed"),
        F.col("live_rows").alias("times_read_live"),
    )
    if have_names(views):
        named = names_of_records(views).withColumn("run", F.lit(views.meta.run_id).cast("bigint"))
        rows = rows.join(named, ["run", "producer", "seq"], "left").select(*rows.columns, "id", "key_text")
    if findings is None:
        return rows
    # A phantom of another run may have the number of a record of this one. Damaged values name a record
    # that they may not be.
    names = [rule.finding.value for rule in CLASSES]
    about = findings.where(F.col("finding").isin(names) & F.col("seq").isNotNull())
    about = about.where(~is_of(FindingClass.CORRUPT) | F.col("sent_ns").isNotNull())
    sent = (~is_of(FindingClass.PHANTOM)).alias("was_sent")
    found = about.groupBy("producer", "seq", sent).agg(F.min(comparable(*FINDING_COLUMNS)).alias("found"))
    found = found.select("producer", "seq", "was_sent", *(f"found.{name}" for name in FINDING_COLUMNS))
    every = rows.withColumn("was_sent", F.col("times_sent") > 0)
    return every.join(found, ["producer", "seq", "was_sent"], "left").select(*rows.columns, *FINDING_COLUMNS)
