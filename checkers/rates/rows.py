"""One row per run below a folder: its axes, its verdict and its counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from pydantic import ValidationError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.journals.frames import GLOB_PATHS, schema_of
from checkers.judgement.judge import judge
from harness.model.errors import KafkaChaosError
from harness.model.journal import RUN_FILE, SCHEMA_VERSION, SUMMARY_FILE, SendOutcome
from harness.model.result import FindingClass, Summary, VerdictWord
from harness.model.run import RunMeta
from harness.model.storage import StoragePath, spark_path

OUTCOME_FILE = "outcome.json"
"""Beside a run of a matrix: `labels` in it are the run's levels on the matrix's axes."""
SET_ASIDE_PREFIX = "cut-short-"
"""Prefix of the names of folders that a resumed matrix has set aside."""
RUN_AXES = (
    "experiment",
    "arm",
    "acks",
    "idempotent",
    "client",
    "version",
    "profile",
    "brokers",
    "faults",
    "seed",
)
SETTINGS = ("producer", "topic", "broker")
MISSING = "-"

ROWS = schema_of(
    "folder string, uri string, version int, problem string, known string, keys array<string>, "
    "verdict string, as_promised boolean, sent bigint, acked bigint, unconfirmed bigint, lost bigint, "
    "unconfirmed_absent bigint, duplicates bigint, unavailable double"
)
"""`uri` is `folder` as Spark escapes it. `problem` null: the run counts. `version` is its schema version,
`known` the axes that it has a value on (space between), `keys` its values on the axes asked for."""


def rows_of(spark: SparkSession, folder: StoragePath, by: Sequence[str]) -> DataFrame:
    """A row of ROWS for each run folder anywhere below `folder`; one task judges the runs of a partition.

    A run that is not finished, not checked, cannot be read or is of verdict `unknown` has a `problem`.
    Folders that a resumed matrix has set aside are skipped, because their runs were repeated.

    Args:
        by: axes, as `axis_values` has them. A run without a value on one has "-" there.
    """
    files = (
        spark.read.format("binaryFile")
        .option(GLOB_PATHS, "false")
        .option("recursiveFileLookup", "true")
        .option("pathGlobFilter", f"{{{RUN_FILE},{SUMMARY_FILE},{OUTCOME_FILE}}}")
        .load(spark_path(folder))
        .select(
            F.regexp_replace("path", "/[^/]*$", "").alias("folder"),
            F.regexp_replace(F.col("_metadata.file_path"), "/[^/]*$", "").alias("uri"),
            F.regexp_extract("path", "[^/]*$", 0).alias("name"),
            F.col("content").cast("string").alias("text"),
        )
    )

    def text_of(name: str) -> Any:
        return F.max(F.when(F.col("name") == name, F.col("text")))

    runs = (
        files.where(~F.col("folder").rlike(f"/{SET_ASIDE_PREFIX}[^/]*$"))
        .groupBy("folder")
        .agg(
            F.max("uri").alias("uri"),
            text_of(RUN_FILE).alias("run"),
            text_of(SUMMARY_FILE).alias("summary"),
            text_of(OUTCOME_FILE).alias("outcome"),
        )
        .where(F.col("run").isNotNull())
    )
    axes = tuple(by)

    def judged(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            rows = [row_of(*texts, by=axes) for texts in batch.itertuples(index=False)]
            yield pd.DataFrame(rows, columns=ROWS.fieldNames())

    return runs.mapInPandas(judged, ROWS)


def row_of(
    folder: str, uri: str, run: str, summary: str | None, outcome: str | None, *, by: Sequence[str]
) -> dict[str, Any]:
    """The row of one run, from the contents of its files (None: the file does not exist)."""
    row: dict[str, Any] = dict.fromkeys(ROWS.fieldNames()) | {
        "folder": folder,
        "uri": uri,
        "keys": [MISSING] * len(by),
    }
    try:
        version = json.loads(run).get("schema_version")
        row["version"] = version if isinstance(version, int) else None
        if version != SCHEMA_VERSION:
            return row | {"problem": f"schema version {version}"}
        meta = RunMeta.model_validate_json(run)
        labels = json.loads(outcome).get("labels", {}) if outcome is not None else {}
        values = axis_values(meta, labels)
        row["known"] = " ".join(values)
        row["keys"] = [values.get(axis, MISSING) for axis in by]
        if summary is None:
            return row | {"problem": "it was not checked: `kafka-chaos check` does"}
        counts = Summary.model_validate_json(summary)
        judgement = judge(meta, counts)
    except (ValidationError, ValueError, AttributeError, KeyError, KafkaChaosError) as error:
        return row | {"problem": f"it cannot be read: {str(error).splitlines()[0]}"}
    if judgement.verdict is VerdictWord.UNKNOWN:
        row["problem"] = "; ".join(judgement.reasons)
    return row | {
        "verdict": judgement.verdict.value,
        "as_promised": judgement.as_promised,
        "sent": counts.sent,
        "acked": counts.outcomes.get(SendOutcome.ACKED, 0),
        "unconfirmed": counts.outcomes.get(SendOutcome.UNCONFIRMED, 0),
        "lost": counts.count(FindingClass.LOST),
        "unconfirmed_absent": counts.count(FindingClass.UNCONFIRMED_ABSENT),
        "duplicates": counts.count(FindingClass.DUPLICATE),
        "unavailable": counts.unavailable_seconds,
    }


def axis_values(meta: RunMeta, labels: dict[str, str]) -> dict[str, str]:
    """A run's value on every axis that it has: those of PLAIN, `producer:NAME`, `topic:NAME` and
    `broker:NAME` for each setting, and the axes of its matrix by their own names, which come first."""
    cluster = meta.cluster
    plain = (
        meta.experiment,
        meta.arm,
        meta.acks,
        str(meta.idempotent).lower(),
        meta.client,
        cluster.image.kafka_version,
        cluster.profile,
        str(cluster.brokers),
        "+".join(sorted({window.kind for window in meta.windows})) or "none",
        str(meta.seed),
    )
    settings = zip(SETTINGS, (meta.producer_config, meta.topic_config, cluster.properties), strict=True)
    given = {f"{where}:{name}": value for where, found in settings for name, value in found.items()}
    return {**dict(zip(RUN_AXES, plain, strict=True)), **given, **labels}
