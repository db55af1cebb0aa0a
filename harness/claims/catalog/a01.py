"""A1 and what A2 shares with it: Spark's driver dies between the write of a batch and its commit."""

from __future__ import annotations

from harness.claims.clusters import ONE_BROKER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_applications import drained, ended_by_itself, reprocessed, unprocessed
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

RECORDS, BATCH = 6000, 1500
_TEXT = """
name: a01-spark-kafka-sink
title: Spark's driver dies between the write of a batch and its commit
topic: {assignment: [[1], [1], [1]]}
application:
  run: {builtin: spark-kafka-sink, options: {maxOffsetsPerTrigger: 1500}}
  guarantee: at-least-once
  restarts: 1
steps:
- write: {name: copied, records: 6000}
arms:
- name: driver-dies
  producer: {acks: all}
  application: {run: {options: {die: between-write-and-commit}}}
- name: no-fault
  producer: {acks: all}
"""
DIES = experiment(_TEXT, ONE_BROKER)
WRITTEN = (precondition(acked("copied", RECORDS)), drained())

CLAIM = Claim(
    id="A1",
    title="Spark's Kafka sink is at least once: a driver that dies before it has committed a batch writes "
    "the batch again, and loses nothing",
    words="Spark Structured Streaming writes a batch to Kafka, and then writes to its checkpoint that the "
    "batch is done. If the driver dies in between, the batch is written again after the restart: its "
    "outputs are doubled. None is missing (Structured Streaming + Kafka Integration Guide: Kafka only "
    "supports at least once write semantics).",
    set_up="A copy of 6,000 records by Spark's Kafka sink in batches of up to 1,500. The driver dies with "
    "SIGKILL, and its JVM with it, after the write of a batch and before its commit, and is started again. "
    "Control: it does not die.",
    arms=(
        claim_arm(
            DIES,
            reprocessed(1, BATCH),
            unprocessed(0),
            *WRITTEN,
            ended_by_itself(),
            arm="driver-dies",
        ),
        control_arm(DIES, reprocessed(0, 0), unprocessed(0), *WRITTEN, arm="no-fault"),
    ),
)
