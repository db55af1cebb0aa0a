"""C6: committed offsets are as durable as the topic that holds them."""

from __future__ import annotations

from harness.claims.clusters import COMMON, experiment, with_properties
from harness.claims.model import Claim, claim_arm, control_arm
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.suite.expect_groups import commits_answered, still_committed
from harness.suite.expectations import precondition

_TEXT = """
name: c06-{name}
title: The coordinator dies and loses its disk after a commit was answered
steps:
- write: {{name: records, records: 10}}
- wait: {{replicated: true}}
- commit_offsets: {{name: app, through: {{all: true}}, offset: 5}}
- inject: {{wipe_disk: {{target: {{coordinator: {{group: app-0}}}}}}}}
- sleep: {{seconds: 6}}
- heal:
- wait: {{isr: 3, within: 90}}
arms:
- {{name: {name}, producer: {{acks: all}}, promise: {{lost: any, commit_lost: any}}}}
"""
_ALONE = with_properties(
    COMMON, {"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "1"}
)
_ANSWERED = precondition(commits_answered("app", 1))


def _on(name: str, cluster: ClusterSpec) -> Experiment:
    return experiment(_TEXT, cluster, name=name)


CLAIM = Claim(
    id="C6",
    title="Committed offsets are as durable as the replicas of __consumer_offsets",
    words="Offsets are records of the topic __consumer_offsets. A coordinator answers a commit when its "
    "replicas have it, so that another one takes over with every commit that was answered. With one replica "
    "(offsets.topic.replication.factor=1) they are gone with its disk.",
    set_up="Three brokers. A group commits offset 5 and is told that it is done. The coordinator dies, its "
    "disk is emptied, and it comes back. Claim: three replicas. Control: one.",
    arms=(
        claim_arm(_on("three", COMMON), _ANSWERED, still_committed("app-0", 5, True)),
        control_arm(_on("one", _ALONE), _ANSWERED, still_committed("app-0", 5, False)),
    ),
)
