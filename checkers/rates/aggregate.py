"""Figures of groups of runs: shares of runs, rates per million, percentiles of seconds and of latencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from checkers.journals.frames import GLOB_PATHS
from checkers.rates.rows import rows_of
from checkers.statistics.rates import per_million, percentile
from checkers.statistics.shares import share
from harness.model.errors import BadInput, CheckError, JournalError
from harness.model.journal import SCHEMA_VERSION, SENDS_DIR, SendOutcome
from harness.model.storage import StoragePath, spark_path

LATENCIES = {"latency_p50_ms": 0.5, "latency_p95_ms": 0.95, "latency_p99_ms": 0.99, "latency_p999_ms": 0.999}
_ACCURACY = 10_000
_COUNTS = ("runs", "left_out", "runs_with_loss", "acked", "lost", "unconfirmed", "unconfirmed_absent", "sent")
_NUMBERS = (
    "loss_share_low", "loss_share_high",
    "lost_per_million", "lost_low", "lost_high",
    "unconfirmed_absent_per_million", "unconfirmed_absent_low", "unconfirmed_absent_high",
    "duplicates_per_million", "duplicates_low", "duplicates_high",
    "unavailable_median_s", "unavailable_p95_s", "unavailable_most_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rates:
    """`rows`: one per group, as `group_figures` returns them, ordered by the values of the axes. `left_out`:
    which runs do not count and why (at most `MOST_LEFT_OUT_SHOWN`, then the number of the others)."""

    by: tuple[str, ...]
    rows: list[dict[str, Any]]
    left_out: list[str]


MOST_LEFT_OUT_SHOWN = 50


def rates(
    spark: SparkSession,
    folder: StoragePath,
    by: Sequence[str],
    *,
    latencies: bool = True,
    parquet: StoragePath | None = None,
) -> Rates:
    """Rates of all runs below `folder`, grouped by axes, and written to `parquet` if it is not None.

    Raises:
        JournalError: there is no run, or one of another schema version.
        BadInput: no run has a value on one of the axes.
        CheckError: Spark failed.
    """
    axes = tuple(by)
    try:
        return _rates(spark, folder, axes, latencies, parquet)
    except (Py4JError, PySparkException) as error:
        raise CheckError(
            "Spark failed while reading the run folders; they are untouched",
            where=str(folder),
            found=str(error).splitlines()[0],
            next_step="check that the folder exists and memory suffices, then try again",
        ) from error


def _rates(
    spark: SparkSession,
    folder: StoragePath,
    by: tuple[str, ...],
    latencies: bool,
    parquet: StoragePath | None,
) -> Rates:
    runs = rows_of(spark, folder, by).cache()
    try:
        _refuse(runs, folder, by)
        found = group_figures(runs, by)
        if latencies:
            found = found.join(latency(spark, runs, by), list(by), "left")
        found = found.orderBy(*(F.col(f"`{axis}`") for axis in by)).cache()
        if parquet is not None:
            found.coalesce(1).write.mode("overwrite").parquet(spark_path(parquet))
        rows = [row.asDict() for row in found.collect()]
        found.unpersist()
        out = runs.where("problem is not null").orderBy("folder")
        reasons = [f"{row.folder}: {row.problem}" for row in out.limit(MOST_LEFT_OUT_SHOWN).collect()]
        more = out.count() - len(reasons)
    finally:
        runs.unpersist()
    return Rates(by, rows, [*reasons, *([f"and {more:,} more"] if more else [])])


def _refuse(runs: DataFrame, folder: StoragePath, by: tuple[str, ...]) -> None:
    """Refuse folders without runs, runs of another version, and axes on which no run has a value."""
    total = runs.count()
    if not total:
        raise JournalError(
            "there is no run below this folder",
            where=str(folder),
            expected="run folders, as `kafka-chaos run` and `kafka-chaos matrix` leave them",
            found="no run.json",
            next_step="name a folder of results",
        )
    other = runs.where(F.col("version").isNotNull() & (F.col("version") != SCHEMA_VERSION)).orderBy("folder")
    first = other.first()
    if first is not None:
        raise JournalError(
            "a run was made by another version of kafka-chaos, and cannot be combined with the others",
            where=first.folder,
            expected=f"schema version {SCHEMA_VERSION}",
            found=f"schema version {first.version}, in {other.count():,} of {total:,} runs",
            next_step="move those folders away, or use the version that wrote them",
        )
    readable = runs.where("known is not null")
    known = {
        row.axis
        for row in readable.select(F.explode(F.split("known", " ")).alias("axis")).distinct().collect()
    }
    for axis in by:
        if known and axis not in known:
            short = sorted(one for one in known if ":" not in one)
            raise BadInput(
                f"no run has a value on {axis!r}",
                where="--by",
                expected=f"{', '.join(short)}, or producer:NAME, topic:NAME, broker:NAME for a setting",
                next_step="correct --by",
            )


def group_figures(runs: DataFrame, by: Sequence[str]) -> DataFrame:
    """One row per group.

    Columns: the axes' values (string); the number of `runs` that count and of those `left_out` (bigint);
    counts over the runs that count (bigint); and, as doubles, the interval of the share of runs with loss,
    rates per million with their intervals (null: none), unavailable seconds. Runs that cannot be read are in
    no group.
    """
    schema = StructType(
        [
            *(StructField(axis, StringType()) for axis in by),
            *(StructField(name, LongType()) for name in (*_COUNTS, "duplicates")),
            *(StructField(name, DoubleType()) for name in _NUMBERS),
        ]
    )
    names = tuple(by)

    def add_up(group: pd.DataFrame) -> pd.DataFrame:
        values = list(group["keys"].iloc[0])
        good = group[group["problem"].isna()]
        return pd.DataFrame(
            [dict(zip(names, values, strict=True)) | figures_of(good, len(group) - len(good))],
            columns=schema.fieldNames(),
        )

    # In a fixed order, because the bootstrap draws rows by position.
    return (
        runs.where("known is not null")
        .groupBy(F.col("keys").alias("group"))
        .applyInPandas(lambda group: add_up(group.sort_values("folder")), schema)
    )


def figures_of(good: pd.DataFrame, left_out: int) -> dict[str, Any]:
    """The figures of one group's runs that count."""
    total = {name: int(good[name].sum()) for name in (*_COUNTS[3:], "duplicates")}
    with_loss = int((good["lost"] > 0).sum())
    part = share(with_loss, len(good))
    numbers: dict[str, float | None] = {
        "loss_share_low": part.interval.low,
        "loss_share_high": part.interval.high,
    }
    for what, of in (("lost", "acked"), ("unconfirmed_absent", "unconfirmed"), ("duplicates", "sent")):
        rate = per_million(good[what].astype(int).tolist(), good[of].astype(int).tolist())
        numbers[f"{what}_per_million"] = rate.value
        numbers[f"{what}_low"] = rate.interval.low if rate.interval else None
        numbers[f"{what}_high"] = rate.interval.high if rate.interval else None
    seconds = good["unavailable"].astype(float).tolist()
    numbers["unavailable_median_s"] = percentile(seconds, 0.5)
    numbers["unavailable_p95_s"] = percentile(seconds, 0.95)
    numbers["unavailable_most_s"] = max(seconds, default=None)
    return {"runs": len(good), "left_out": left_out, "runs_with_loss": with_loss, **total, **numbers}


def latency(spark: SparkSession, runs: DataFrame, by: Sequence[str]) -> DataFrame:
    """Percentiles, in ms, of the time from send to success report over all records of a group's runs that
    count; to one part in 10,000 of the records (Spark's `percentile_approx`).

    The driver collects one path per run.
    """
    good = runs.where("problem is null").select("folder", "uri", "keys")
    folders = [row.folder for row in good.select("folder").collect()]
    schema = "outcome string, sent_ns bigint, closed_ns bigint"
    if not folders:
        columns = [F.lit(None).cast("string").alias(axis) for axis in by]
        nothing = [F.lit(None).cast("double").alias(name) for name in LATENCIES]
        return spark.range(0).select(*columns, *nothing)
    sends = (
        spark.read.option(GLOB_PATHS, "false")
        .option("pathGlobFilter", "part-*.parquet")
        .schema(schema)
        .parquet(*(f"{folder}/{SENDS_DIR}" for folder in folders))
        .where(F.col("outcome").isin(SendOutcome.ACKED.value, SendOutcome.UNCONFIRMED.value))
        .select(
            F.regexp_replace(F.col("_metadata.file_path"), f"/{SENDS_DIR}/[^/]*$", "").alias("uri"),
            ((F.col("closed_ns") - F.col("sent_ns")) / 1e6).alias("ms"),
        )
    )
    keyed = sends.join(F.broadcast(good.select("uri", "keys")), "uri")
    wanted = F.percentile_approx("ms", list(LATENCIES.values()), _ACCURACY)
    found = keyed.groupBy("keys").agg(wanted.alias("found"))
    return found.select(
        *(F.col("keys")[number].alias(axis) for number, axis in enumerate(by)),
        *(F.col("found")[number].cast("double").alias(name) for number, name in enumerate(LATENCIES)),
    )
