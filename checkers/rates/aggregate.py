"""Figures of groups of runs: shares of runs, rates per million, percentiles of seconds and of latencies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from checkers.engine.failures import cause_of, is_failure
from checkers.journals.views import is_embedded, read_files, readable_path
from checkers.rates.counts import COUNTS
from checkers.rates.figures import CountedRun, figures_of
from checkers.rates.rows import rate_rows
from checkers.sql import ddl, union
from harness.model.errors import BadInput, CheckError, JournalError
from harness.model.journal import SCHEMA_VERSION, SENDS, SENDS_DIR, SendOutcome
from harness.model.storage import StoragePath, matching, open_parquet, storage_path

LATENCIES = {"latency_p50_ms": 0.5, "latency_p95_ms": 0.95, "latency_p99_ms": 0.99, "latency_p999_ms": 0.999}
MOST_LEFT_OUT_SHOWN = 50
_PARTS = "part-*.parquet"
_DIGITS = 4
"""Latencies are counted by their first digits, so that a group has some ten thousand different ones at most.
"""
_COUNTS = ("runs", "left_out", "runs_with_loss", *COUNTS)

Groups = Mapping[tuple[str, ...], list[CountedRun]]
"""Runs by their values on the axes."""


@dataclass(frozen=True, slots=True)
class Rates:
    """`rows`: one per group, ordered by its values of the axes (string), with the columns of `columns_of` and
    of LATENCIES. `left_out`: which runs do not count and why (at most `MOST_LEFT_OUT_SHOWN`, then the number
    of the others)."""

    by: tuple[str, ...]
    rows: list[dict[str, Any]]
    left_out: list[str]

    @property
    def table(self) -> pa.Table:
        """The rows with their types."""
        columns = self.rows[0] if self.rows else (*self.by, *columns_of(()))
        types = dict.fromkeys(columns, pa.float64())
        types |= dict.fromkeys(_COUNTS, pa.int64()) | dict.fromkeys(self.by, pa.string())
        return pa.Table.from_pylist(self.rows, schema=pa.schema(types))


def rates_of_runs(
    spark: SparkSession,
    folder: StoragePath,
    by: Sequence[str],
    *,
    latencies: bool = True,
) -> Rates:
    """Rates of all runs below `folder`, grouped by axes. Runs that cannot be read are in no group.

    Raises:
        JournalError: there is no run, or one of another schema version.
        BadInput: no run has a value on one of the axes.
        CheckError: the engine failed.
    """
    try:
        runs = rate_rows(spark, folder, by)
        _refuse(runs, folder, by)
        groups: dict[tuple[str, ...], list[CountedRun]] = defaultdict(list)
        for run in runs:
            if run["known"] is not None:
                groups[tuple(run["keys"])].append(run)
        of_sends = latencies_of(spark, groups) if latencies else {}
        unknown = dict.fromkeys(LATENCIES if latencies else ())
        rows = [
            {**dict(zip(by, keys, strict=True)), **columns_of(groups[keys]), **of_sends.get(keys, unknown)}
            for keys in sorted(groups)
        ]
    except Exception as error:
        if not (is_failure(error) or isinstance(error, OSError)):
            raise
        raise CheckError(
            "the run folders could not be added up; they are untouched",
            where=str(folder),
            found=cause_of(error),
            next_step="check that the folder exists and memory suffices, then try again",
        ) from error
    out = [f"{run['folder']}: {run['problem']}" for run in runs if run["problem"] is not None]
    if (more := len(out) - MOST_LEFT_OUT_SHOWN) > 0:
        out[MOST_LEFT_OUT_SHOWN:] = [f"and {more:,} more"]
    return Rates(tuple(by), rows, out)


def _refuse(runs: Sequence[CountedRun], folder: StoragePath, by: Sequence[str]) -> None:
    """Refuse no runs, runs of another version, and axes on which no run has a value."""
    if not runs:
        raise JournalError(
            "there is no run below this folder",
            where=str(folder),
            expected="run folders, as `kafka-chaos run` and `kafka-chaos matrix` leave them",
            found="no run.json",
            next_step="name a folder of results",
        )
    other = [run for run in runs if run["version"] not in (None, SCHEMA_VERSION)]
    if other:
        raise JournalError(
            "a run was made by another version of kafka-chaos, and cannot be combined with the others",
            where=other[0]["folder"],
            expected=f"schema version {SCHEMA_VERSION}",
            found=f"schema version {other[0]['version']}, in {len(other):,} of {len(runs):,} runs",
            next_step="move those folders away, or use the version that wrote them",
        )
    known = {axis for run in runs for axis in run["known"] or ()}
    for axis in by:
        if known and axis not in known:
            short = sorted(name for name in known if ":" not in name)
            raise BadInput(
                f"no run has a value on {axis!r}",
                where="--by",
                expected=f"{', '.join(short)}, or producer:NAME, topic:NAME, broker:NAME for a setting",
                next_step="correct --by",
            )


def columns_of(runs: Sequence[CountedRun]) -> dict[str, float | None]:
    """The figures of one group as columns: numbers of the `runs` that count and of those `left_out`, counts
    over the runs that count, the interval of the share of runs with loss, rates per million with their
    intervals (None: none), unavailable seconds."""
    figures = figures_of(runs)
    share = figures.with_any["lost"]
    columns: dict[str, float | None] = {
        "runs": figures.runs,
        "left_out": figures.left_out,
        "runs_with_loss": share.k,
        **figures.counts,
        "loss_share_low": share.low,
        "loss_share_high": share.high,
    }
    for what, rate in figures.per_million.items():
        columns[f"{what}_per_million"] = rate.value
        columns[f"{what}_low"], columns[f"{what}_high"] = rate.low, rate.high
    return columns | {
        "unavailable_median_s": figures.unavailable.median,
        "unavailable_p95_s": figures.unavailable.p95,
        "unavailable_most_s": figures.unavailable.most,
    }


def latencies_of(spark: SparkSession, groups: Groups) -> dict[tuple[str, ...], dict[str, float | None]]:
    """Percentiles (LATENCIES), in ms, of the time from send to success report over all records of a group's
    runs that count.

    The q-th percentile is the least latency that at least the share q of the records does not exceed; it is
    exact up to the fourth digit, and the same on every engine.
    """
    numbers = {
        run["folder"]: number
        for number, runs in enumerate(groups.values())
        for run in runs
        if run["problem"] is None
    }
    if not numbers:
        return {}
    of_runs = spark.createDataFrame(list(numbers.items()), "folder string, number int")
    sends = _sends_of(spark, list(numbers)).where(
        F.col("outcome").isin(SendOutcome.ACKED.value, SendOutcome.UNCONFIRMED.value)
    )
    counted = (
        sends.groupBy("folder", _rounded(F.col("closed_ns") - F.col("sent_ns")).alias("ns"))
        .agg(F.count("*").alias("records"))
        .join(F.broadcast(of_runs), "folder")
        .groupBy("number", "ns")
        .agg(F.sum("records").alias("records"))
    )
    group = Window.partitionBy("number")
    ranked = counted.withColumns(
        {"up_to": F.sum("records").over(group.orderBy("ns")), "all": F.sum("records").over(group)}
    )
    latencies = ranked.groupBy("number").agg(
        *(
            (F.min(F.when(F.col("up_to") >= F.ceil(F.col("all") * share), F.col("ns"))) / 1e6).alias(name)
            for name, share in LATENCIES.items()
        )
    )
    keys = list(groups)
    return {keys[row.pop("number")]: row for row in latencies.toArrow().to_pylist()}


def _sends_of(spark: SparkSession, folders: Sequence[str]) -> DataFrame:
    """The sends of these runs: `folder`, `outcome`, `sent_ns`, `closed_ns`."""
    schema = pa.schema([SENDS.field(name) for name in ("outcome", "sent_ns", "closed_ns")])
    if is_embedded(spark):
        # Sail does not say which file a row is from; Spark takes long for a plan with hundreds of sources.
        return union(
            [
                read_files(spark, schema, _files_of(folder)).withColumn("folder", F.lit(folder))
                for folder in folders
            ]
        )
    # A URI: what is no letter is encoded, but the plus sign, which `url_decode` takes for a space.
    file = F.url_decode(F.replace(F.col("_metadata.file_path"), F.lit("+"), F.lit("%2B")))
    folder = F.regexp_replace(F.regexp_replace(file, f"/{SENDS_DIR}/[^/]*$", ""), "^file:/*", "/")
    rows = (
        spark.read.option("pathGlobFilter", _PARTS)
        .schema(ddl(schema))
        .parquet(*(readable_path(spark, storage_path(path) / SENDS_DIR) for path in folders))
    )
    return rows.select(folder.alias("folder"), *schema.names)


def _files_of(folder: str) -> Iterator[tuple[StoragePath, pa.Schema]]:
    """The files of a run's journal of sends with their Arrow schemas, from their footers."""
    for path in matching(storage_path(folder) / SENDS_DIR, _PARTS):
        with open_parquet(path) as file:
            yield path, file.schema_arrow


def _rounded(number: Column) -> Column:
    """A positive bigint with all but its first digits zero; others as they are."""
    more = F.greatest(F.floor(F.log10(F.greatest(number, F.lit(1)))) - (_DIGITS - 1), F.lit(0))
    unit = F.pow(F.lit(10.0), more).cast("bigint")
    return F.when(number > 0, number - number % unit).otherwise(number)
