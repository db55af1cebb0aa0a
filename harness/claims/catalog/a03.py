"""A3 and what A4 shares with it: an unclean election truncates the log below Spark's checkpoint."""

from __future__ import annotations

from harness.claims.clusters import COMMON, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.spec.experiment import Experiment
from harness.suite.expect_applications import drained, reprocessed, unprocessed
from harness.suite.expect_endings import failed, outputs
from harness.suite.expect_records import acked, lost
from harness.suite.expectations import precondition

_TEXT = """
name: {name}
title: The leader dies alone, and {title} (failOnDataLoss={fail})
topic:
  assignment: [[1, 2, 3]]
  config: {{min.insync.replicas: 1, unclean.leader.election.enable: {unclean}}}
application:
  run: {{builtin: spark-kafka-sink, options: {{failOnDataLoss: {fail}}}}}
  output: {{topic: {{assignment: [[1]]}}}}
  guarantee: at-least-once
  must_fail: {must_fail}
steps:
- write: {{name: together, records: 500}}
- wait: {{replicated: true}}
- inject: {{kill: {{target: {{nodes: [2, 3]}}}}, name: followers}}
- wait: {{isr: {{is: {{broker: 1}}}}, within: 60}}
- write: {{name: alone, records: 500}}
- wait: {{application: drained, within: 120}}
- inject: {{stop: {{target: {{application: 0}}}}, name: away}}
- inject: {{kill: {{target: {{broker: 1}}}}, name: leader}}
- heal: {{only: [followers], awaited: false}}
- write: {{name: after, records: 20, at_most: {at_most}}}
- heal: {{only: [leader]}}
- wait: {{replicated: true, within: 60}}
- heal: {{only: [away]}}
arms:
- {{name: spark, producer: {{acks: 1}}, promise: {promise}}}
"""


def elected(name: str, *, fail: bool, unclean: bool = True) -> Experiment:
    """The experiment with failOnDataLoss=`fail`. If the election is `unclean`, 500 records that Spark has
    processed are cut off, and 20 others take their place; else the followers wait for the old leader."""
    return experiment(
        _TEXT,
        COMMON,
        name=name,
        title="a follower without its last records is elected" if unclean else "the followers wait for it",
        unclean=str(unclean).lower(),
        fail=str(fail).lower(),
        must_fail=str(fail and unclean).lower(),
        at_most=30 if unclean else 8,
        promise="{lost: acked in alone, premature: 500, unprocessed: any}" if unclean else "{lost: 0}",
    )


_FAILS = elected("a03-truncated", fail=True)
_WAITS = elected("a03-not-truncated", fail=True, unclean=False)
WRITTEN = tuple(
    precondition(acked(step, count)) for step, count in (("together", 500), ("alone", 500), ("after", 20))
)

CLAIM = Claim(
    id="A3",
    title="With failOnDataLoss=true Spark stops if the log has been truncated below its checkpoint",
    words="If an unclean election has cut off records that Spark has processed, the end of the log is below "
    "the offset of its checkpoint. With failOnDataLoss=true, the default, the query stops with an error "
    "and writes nothing (Structured Streaming + Kafka Integration Guide, failOnDataLoss).",
    set_up="Two of three replicas are down while the leader takes 500 records alone, which Spark copies. "
    "Spark is stopped, the leader dies, a follower without the 500 records is elected (unclean), and takes "
    "20 others. All brokers come back, and Spark is started again. Control: the same with "
    "unclean.leader.election.enable=false, where nothing is cut off.",
    arms=(
        claim_arm(_FAILS, failed(), outputs(1000), precondition(lost(500)), *WRITTEN),
        control_arm(_WAITS, unprocessed(0), reprocessed(0, 0), precondition(lost(0)), *WRITTEN, drained()),
    ),
)
