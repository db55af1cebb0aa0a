"""One row per run below a folder: its values on the axes, and its counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from checkers.journals.views import readable_path
from checkers.judgement.judge import judge
from checkers.rates.counts import COUNTS, counts_of
from checkers.sql import ddl
from harness.model.errors import KafkaChaosError, first_line
from harness.model.journal import OUTCOME_FILE, RUN_FILE, SCHEMA_VERSION, SET_ASIDE_PREFIX, SUMMARY_FILE
from harness.model.result import Summary, VerdictWord
from harness.model.run import RunMeta
from harness.model.storage import StoragePath, files_below

MISSING = "-"

ROWS = pa.schema(
    {
        "folder": pa.string(),
        "version": pa.int32(),
        "problem": pa.string(),
        **dict.fromkeys(("known", "keys"), pa.list_(pa.string())),
        **dict.fromkeys(COUNTS, pa.int64()),
        "unavailable": pa.float64(),
    }
)
"""`problem` null: the run counts. `version` is its schema version, `known` the axes that it has a value on
(null: it cannot be read), `keys` its values on the axes asked for, `unavailable` seconds."""


def rate_rows(spark: SparkSession, folder: StoragePath, by: Sequence[str]) -> list[dict[str, Any]]:
    """A row of ROWS for each run folder anywhere below `folder`, sorted by folder; tasks judge the runs.

    A run that is not finished, not checked, cannot be read or is of verdict `unknown` has a `problem`.
    Folders that a resumed matrix has set aside are skipped, because their runs were repeated.

    Args:
        by: axes, as `axis_values` has them. A run without a value on one has "-" there.

    Raises:
        OSError: a folder cannot be listed.
    """
    # The files are named one by one: Sail takes folders like `acks=all` for partitions of a table, and a
    # file without a summary or an outcome beside it would be refused.
    files = [
        path
        for path in files_below(folder, (RUN_FILE, SUMMARY_FILE, OUTCOME_FILE))
        if not path.parent.name.startswith(SET_ASIDE_PREFIX)
    ]
    if not any(path.name == RUN_FILE for path in files):
        return []
    name = F.col("path")
    if isinstance(folder, Path):
        # Engines differ in how they name local files: file:/results/run.json, results/run.json.
        name = F.regexp_replace(name, "^(file:)?/*", "/")
    file = F.regexp_extract(name, "[^/]*$", 0)

    def text_of(wanted: str) -> Column:
        return F.max(F.when(file == wanted, F.col("content").cast("string")))

    runs = (
        spark.read.format("binaryFile")
        .load([readable_path(spark, path) for path in files])
        .groupBy(F.regexp_replace(name, "/[^/]*$", "").alias("folder"))
        .agg(
            text_of(RUN_FILE).alias("run"),
            text_of(SUMMARY_FILE).alias("summary"),
            text_of(OUTCOME_FILE).alias("outcome"),
        )
        .where("run is not null")
    )
    axes = tuple(by)

    def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [rate_row(**texts, by=axes) for texts in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, schema=ROWS)

    rows: list[dict[str, Any]] = runs.mapInArrow(judged, ddl(ROWS)).toArrow().to_pylist()
    return sorted(rows, key=lambda row: row["folder"])


def rate_row(
    folder: str, run: str, summary: str | None, outcome: str | None, *, by: Sequence[str]
) -> dict[str, Any]:
    """The row of one run, from the contents of its files (None: the file does not exist)."""
    row: dict[str, Any] = {"folder": folder, "keys": [MISSING] * len(by)}
    try:
        version = json.loads(run).get("schema_version")
        row["version"] = version if isinstance(version, int) else None
        if version != SCHEMA_VERSION:
            return row | {"problem": f"schema version {version}"}
        meta = RunMeta.model_validate_json(run)
        labels = json.loads(outcome).get("labels", {}) if outcome is not None else {}
        values = axis_values(meta, labels)
        row |= {"known": list(values), "keys": [values.get(axis, MISSING) for axis in by]}
        if summary is None:
            return row | {"problem": "it was not checked: `kafka-chaos check` does"}
        counts = Summary.model_validate_json(summary)
        judgement = judge(meta, counts)
    except (ValidationError, ValueError, AttributeError, KeyError, KafkaChaosError) as error:
        return row | {"problem": f"it cannot be read: {first_line(error)}"}
    if judgement.verdict is VerdictWord.UNKNOWN:
        row["problem"] = "; ".join(judgement.reasons)
    ids = counts.ids or 0, counts.acked_ids or 0
    # Whether a record without an identity is lost is not known.
    sent, outcomes = (counts.sent, counts.outcomes) if meta.identified else (0, {})
    return (
        row
        | counts_of(sent, outcomes, counts.findings, counts.inputs or 0, ids)
        | {"unavailable": counts.unavailable_seconds}
    )


def axis_values(meta: RunMeta, labels: dict[str, str]) -> dict[str, str]:
    """A run's value on every axis that it has: those that every run has, `producer:NAME`, `topic:NAME` and
    `broker:NAME` for each setting, and the axes of its matrix by their own names, which come first."""
    cluster = meta.cluster
    settings = {"producer": meta.producer_config, "topic": meta.topic_config, "broker": cluster.properties}
    return {
        "experiment": meta.experiment,
        "arm": meta.arm,
        "acks": meta.acks,
        "idempotent": str(meta.idempotent).lower(),
        "client": meta.client,
        "version": cluster.image.kafka_version,
        "profile": cluster.profile,
        "brokers": str(cluster.brokers),
        "faults": "+".join(sorted({window.kind for window in meta.windows})) or "none",
        "seed": str(meta.seed),
        **{f"{where}:{name}": value for where, pairs in settings.items() for name, value in pairs.items()},
        **labels,
    }
