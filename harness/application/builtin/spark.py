"""Spark Structured Streaming: its Kafka sink, a deduplicating sink, and a table."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from harness.application.built_in import BuiltIn
from harness.application.places import Command, Places
from harness.application.programs.lifecycle import JARS_VARIABLE, READY
from harness.check.spark_jars import KAFKA, jars_of
from harness.model.frozen import Frozen
from harness.spec.application import DrainedWhen, ReadyWhen

_PROGRAM = "harness.application.programs.spark_stream"
_START_SECONDS = 120.0
"""Of a session, and of a planted death with it, on a busy machine."""


class SparkOptions(Frozen):
    """Settings of the source by Spark's own names, and the planted death."""

    failOnDataLoss: bool = Field(
        default=True, description="stop if records that were not processed are gone from the input"
    )
    maxOffsetsPerTrigger: int | None = Field(default=None, ge=1, description="records of one batch, at most")
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    die: Literal["between-write-and-commit"] | None = Field(
        default=None, description="the driver dies once, between the write of a batch and its commit"
    )
    die_in_batch: int = Field(default=1, ge=1, description="the first batch in which it dies, from 0")


class TableOptions(SparkOptions):
    """The same, and how files are written."""

    sink: Literal["file", "append"] = Field(
        default="file", description="Spark's file sink, or `foreachBatch` that appends files"
    )
    table: Literal["parquet", "delta"] = "parquet"

    @model_validator(mode="after")
    def _no_delta(self) -> TableOptions:
        if self.table == "delta":
            raise ValueError(
                "delta-spark has no release for Spark 4.3, so `table: delta` is not offered: use parquet"
            )
        return self


def _command(sink: str, options: SparkOptions, places: Places, jars: tuple[Path, ...]) -> Command:
    if isinstance(options, TableOptions):
        sink = "table" if options.sink == "file" else "append"
    arguments = [
        *(sys.executable, "-m", _PROGRAM, "--sink", sink),
        *("--bootstrap", places.bootstrap, "--input", places.input, "--output", places.output),
        *("--state", str(places.state), "--isolation", options.isolation),
        *("--fail-on-data-loss", str(options.failOnDataLoss).lower()),
    ]
    if options.maxOffsetsPerTrigger is not None:
        arguments += ["--max-offsets", str(options.maxOffsetsPerTrigger)]
    if options.die is not None:
        arguments += ["--die-in-batch", str(options.die_in_batch)]
    return Command(tuple(arguments), {JARS_VARIABLE: os.pathsep.join(map(str, jars))})


def checkpoint(state: Path) -> Mapping[int, int]:
    """The offsets up to which committed batches have processed the input, by partition."""
    folder = state / "checkpoint"
    commits = [int(one.name) for one in (folder / "commits").glob("*") if one.name.isdigit()]
    for number in sorted(commits, reverse=True):
        try:
            last = (folder / "offsets" / str(number)).read_text().splitlines()[-1]
            (partitions,) = json.loads(last).values()
            return {int(partition): int(offset) for partition, offset in partitions.items()}
        except (OSError, ValueError, IndexError):
            continue  # It is being written, or was removed meanwhile.
    return {}


_of_spark = partial(
    BuiltIn,
    options=SparkOptions,
    jars=lambda _options: jars_of(KAFKA),
    ready=ReadyWhen(logged=READY, within=_START_SECONDS),
    drained=DrainedWhen(checkpoint=True, quiet=1.0, within=_START_SECONDS),
    checkpoint=checkpoint,
)
SPARK = (
    _of_spark(
        name="spark-kafka-sink",
        summary="Spark Structured Streaming from Kafka to Kafka, by Spark's own sink",
        command=partial(_command, "native"),
    ),
    _of_spark(
        name="spark-dedup-sink",
        summary="Spark Structured Streaming from Kafka to Kafka, by foreachBatch that commits the number of "
        "each batch in the transaction of its records",
        command=partial(_command, "dedup"),
    ),
    _of_spark(
        name="spark-table",
        summary="Spark Structured Streaming from Kafka to Parquet files",
        command=partial(_command, "table"),
        options=TableOptions,
    ),
)
