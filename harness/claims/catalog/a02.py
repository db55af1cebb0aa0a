"""A2: Spark with a deduplicating sink, and Spark's file sink, are exactly once."""

from __future__ import annotations

from harness.claims.catalog.a01 import BATCH, DIES, WRITTEN
from harness.claims.clusters import ONE_BROKER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_applications import drained, ended_by_itself, reprocessed, unprocessed

_TEXT = """
name: a02-spark-exactly-once
title: Spark's driver dies between the write of a batch and its commit, with sinks that know the batch
topic: {assignment: [[1], [1], [1]]}
application:
  run:
    builtin: spark-dedup-sink
    options: {maxOffsetsPerTrigger: 1500, die: between-write-and-commit}
  guarantee: exactly-once
  restarts: 1
steps:
- write: {name: copied, records: 6000}
arms:
- name: deduplicating-sink
  producer: {acks: all}
- name: table
  producer: {acks: all}
  application:
    run:
      builtin: spark-table
      options: {maxOffsetsPerTrigger: 1500, die: between-write-and-commit}
    output: {table: parquet}
- name: appended-table
  producer: {acks: all}
  application:
    run:
      builtin: spark-table
      options: {maxOffsetsPerTrigger: 1500, die: between-write-and-commit, sink: append}
    output: {table: parquet}
    guarantee: at-least-once
"""
_KNOWS = experiment(_TEXT, ONE_BROKER)
_EXACTLY = (reprocessed(0, 0), unprocessed(0), *WRITTEN, ended_by_itself())

CLAIM = Claim(
    id="A2",
    title="A sink that knows the number of the batch is exactly once, and so is Spark's file sink",
    words="The same batch has the same number and the same records after a restart. A sink that keeps the "
    "number together with the records can leave out a batch that it has: nothing is doubled or missing. "
    "Spark's file sink does so in _spark_metadata (Structured Streaming Programming Guide, foreachBatch and "
    "fault tolerance semantics).",
    set_up="A copy of 6,000 records in batches of up to 1,500, whose driver dies as in A1. One arm writes to "
    "Kafka by foreachBatch in transactions that also commit the number of the batch, and its output is read "
    "with read_committed; another one writes Parquet files by Spark's file sink, of which those count that "
    "_spark_metadata names. Controls: Spark's Kafka sink, and foreachBatch that appends files.",
    arms=(
        claim_arm(_KNOWS, *_EXACTLY, arm="deduplicating-sink"),
        claim_arm(_KNOWS, *_EXACTLY, arm="table"),
        control_arm(DIES, reprocessed(1, BATCH), unprocessed(0), *WRITTEN, arm="driver-dies"),
        control_arm(
            _KNOWS,
            reprocessed(1, BATCH),
            unprocessed(0),
            drained(),
            ended_by_itself(),
            arm="appended-table",
        ),
    ),
)
