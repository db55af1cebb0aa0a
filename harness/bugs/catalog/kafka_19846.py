"""KAFKA-19846: members of share groups are given nothing if their id has a plus or a slash."""

from __future__ import annotations

from harness.bugs.clusters import SHARE_GROUPS, SHARE_GROUPS_PREVIEW
from harness.bugs.expectations import invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.result import FindingClass
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_GROUPS = 10
_SHARE = ", ".join(f"{{{{name: queue-{number}, members: 1, lock: 2}}}}" for number in range(_GROUPS))
_TEXT = (
    """
name: kafka-19846-{name}
title: Share groups of one member each read a topic
topic: {{assignment: [[1]]}}
share: [SHARE]
steps:
- write: {{name: records, records: 20}}
- sleep: {{seconds: 8}}
arms:
- {{name: {name}, producer: {{acks: all}}, promise: {{share_stuck: "{stuck}"}}}}
"""
).replace("SHARE", _SHARE)
_WRITTEN = precondition(acked("records", 20))

BUG = Bug(
    id="KAFKA-19846",
    title="Members of share groups whose id has a plus or a slash are given nothing",
    link="https://issues.apache.org/jira/browse/KAFKA-19846",
    words="Members of share groups choose their own id. librdkafka's are random bytes in base64, in which "
    "plus and slash occur. Brokers decoded the id of a share session as base64 for URLs, which has other "
    "characters in their place, and refused the member's fetches: it is in the group, and is given nothing.",
    affected="Kafka 4.1.0 and 4.1.1, where share groups are a preview.",
    fixed="Kafka 4.2.0, the first release with share groups for production (seen on 4.3.1).",
    set_up=f"One broker, 20 records, and {_GROUPS} share groups of one member each, with librdkafka. About "
    "half of all ids have such a character.",
    proof="The records were acknowledged. In the fixed arm every group has accepted them all; in the "
    "affected arm some groups have, and the others were given nothing.",
    arms=(
        affected_arm(
            experiment(_TEXT, SHARE_GROUPS_PREVIEW, name="4.1.1", stuck=">= 1"),
            invalid_for(FindingClass.SHARE_STUCK),
            _WRITTEN,
        ),
        fixed_arm(experiment(_TEXT, SHARE_GROUPS, name="4.3.1", stuck="0"), valid(), _WRITTEN),
    ),
)
