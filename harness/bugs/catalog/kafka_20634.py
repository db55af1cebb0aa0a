"""KAFKA-20634: a former coordinator answers commits as done that it has truncated."""

from __future__ import annotations

from harness.bugs.clusters import ONE_COORDINATOR
from harness.bugs.expectations import free_of, invalid_for
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.result import FindingClass
from harness.suite.expect_groups import commits_answered
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: kafka-20634-{name}
title: A coordinator that is cut off from the other brokers takes commits, and comes back
steps:
- write: {{name: records, records: 10}}
- commit_offsets: {{name: before, through: {{all: true}}}}
- inject:
    partition: {{from: {{coordinator: {{group: before-0}}}}, to: {{nodes: [1, 2, 3, 101]}}}}
    name: cut
# Another broker coordinates now, and writes further than the old one's first commits.
- commit_offsets: {{name: other, other_than: before, groups: 3, entries: 1000}}
# 5,000 records, which the old coordinator cannot replicate, so it does not answer.
- commit_offsets: {{name: late, same_as: before, groups: 10, entries: 500, awaited: false}}
- sleep: {{seconds: 1}}
# They keep it busy: its queue is deep when it learns that it is coordinator no more.
- commit_offsets: {{name: flood, same_as: before, groups: 750, entries: 2000, awaited: false}}
- heal: {{only: [cut], awaited: false}}
- wait: {{isr: 3, within: 60}}
arms:
- name: {name}
  producer: {{acks: all}}
  promise: {{commit_lost: "{lost}"}}
"""


_AFFECTED = experiment(
    _TEXT, ONE_COORDINATOR.model_copy(update={"version": "4.1.1"}), name="4.1.1", lost=">= 1"
)
_FIXED = experiment(_TEXT, ONE_COORDINATOR, name="4.3.1", lost="0")
_HAPPENED = (
    precondition(acked("records", 10)),
    precondition(commits_answered("before", 1)),
    precondition(commits_answered("other", 3)),
)

BUG = Bug(
    id="KAFKA-20634",
    title="A coordinator that was cut off answers that offsets are committed which it has truncated",
    link="https://issues.apache.org/jira/browse/KAFKA-20634",
    words="A coordinator that is cut off from the other brokers takes commits of offsets and cannot "
    "replicate them, so it does not answer. When it is back, it follows the new leader and truncates them. "
    "Until it has unloaded its groups, which waits behind the requests in its queue, it takes the new "
    "leader's high watermark for that of its own records, and answers that they are committed. Those "
    "offsets are gone: consumers that rely on them are given records again.",
    affected="Kafka 4.1.1, and earlier ones with the new group coordinator (seen on 4.1.1).",
    fixed="Kafka 4.3.1: a broker that becomes a follower tells its coordinators no high watermark.",
    set_up="Three brokers, one partition of __consumer_offsets, offsets.commit.timeout.ms=20000. A group "
    "commits. The coordinator is cut off from the brokers and the controller, but not from clients. Another "
    "broker takes over, and three groups commit there, 3,000 records of __consumer_offsets in all. Ten "
    "groups send commits to the old coordinator (5,000 records), then 750 more groups, to fill its queue, "
    "and the network is healed.",
    proof="The new coordinator has answered the three commits while the old one was cut off, and in both "
    "arms the old one answers the ten late commits: some as done, or all with NOT_COORDINATOR.",
    arms=(
        affected_arm(
            _AFFECTED,
            invalid_for(FindingClass.COMMIT_LOST),
            *_HAPPENED,
            commits_answered("late", 1, 10),
        ),
        fixed_arm(_FIXED, free_of(FindingClass.COMMIT_LOST), *_HAPPENED, commits_answered("late", 0, 0)),
    ),
)
