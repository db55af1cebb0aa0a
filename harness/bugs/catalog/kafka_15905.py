"""KAFKA-15905: after a start MirrorMaker 2 does not translate the offsets of a group that is behind."""

from __future__ import annotations

from harness.bugs.expectations import counted
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import ONE_BROKER, experiment
from harness.model.result import FindingClass
from harness.suite.expect_applications import drained, logged, unprocessed
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: kafka-15905
title: MirrorMaker 2 is started again, and a group that is behind fails over later
topic: {assignment: [[1]]}
application:
  # 3,000 more records than MirrorMaker 2 has seen it commit before its start.
  run: {builtin: mirrormaker-failover, options: {reads: [200, 3000]}}
  output: {table: lines, cluster: {}}
  guarantee: at-least-once
steps:
- write: {name: mirrored, records: 4000, rate: 1000}
- wait: {application: drained, within: 120}
- inject: {stop: {target: {application: 0}}, name: restarted}
- heal: {only: [restarted]}
- wait: {application: drained, within: 120}
- inject: {stop: {target: {application: 0}}, name: failed-over}
- heal: {only: [failed-over]}
arms:
- name: mirrormaker-3.7.0
  producer: {acks: all}
  application: {run: {options: {version: 3.7.0}}}
- name: mirrormaker-3.7.1
  producer: {acks: all}
  application: {run: {options: {version: 3.7.1}}}
"""
_RESTARTED = experiment(_TEXT, ONE_BROKER)
_GIVEN = (
    precondition(acked("mirrored", 4000)),
    drained(),
    precondition(logged("failed over to")),
    unprocessed(0),
)

BUG = Bug(
    id="KAFKA-15905",
    title="MirrorMaker 2 does not translate the offsets of a group after a start until it has caught up",
    link="https://issues.apache.org/jira/browse/KAFKA-15905",
    words="MirrorMaker 2 translates a group's offsets by pairs of offsets of the two clusters, which it has "
    "in memory. After a start it knew no pair below the newest one. So it wrote no checkpoint for a group "
    "that was behind this pair: its translated offsets stood still, however far the group went on, until "
    "it had caught up. A consumer that failed over meanwhile read again all that it had read since "
    "MirrorMaker's start. KAFKA-16622 is the same at the first start.",
    affected="MirrorMaker 2 of Kafka 3.5.0 (KAFKA-14666) to 3.7.0.",
    fixed="Kafka 3.7.1: MirrorMaker reads its own checkpoints at its start, and keeps older pairs.",
    set_up="Two clusters of one broker each. A group has read 200 of 4,000 records when MirrorMaker 2 has "
    "mirrored all. MirrorMaker is stopped in a controlled way and started again, and the group reads 3,000 "
    "more. Then its consumer fails over to the mirror, at the offsets that RemoteClusterUtils translates.",
    proof="In both arms the consumer has failed over, by its own log, and left nothing out.",
    arms=(
        affected_arm(_RESTARTED, counted(FindingClass.REPROCESSED, 3000), *_GIVEN, arm="mirrormaker-3.7.0"),
        fixed_arm(_RESTARTED, counted(FindingClass.REPROCESSED, 0, 2000), *_GIVEN, arm="mirrormaker-3.7.1"),
    ),
)
