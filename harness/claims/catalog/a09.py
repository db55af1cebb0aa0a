"""A9: MirrorMaker 2 passes over what retention has deleted."""

from __future__ import annotations

from harness.claims.clusters import ONE_BROKER, experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_applications import drained, reprocessed, unprocessed
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_TEXT = """
name: a09-mirrormaker-{name}
title: MirrorMaker 2 is stopped for a while, {title}
topic: {{assignment: [[1]]}}
application:
  run: {{builtin: mirrormaker}}
  output: {output}
  guarantee: at-least-once
steps:
- write: {{name: before, records: 1000, rate: 500}}
# When it is stopped it stores how far it has come.
- wait: {{application: drained, within: 60}}
- inject: {{stop: {{target: {{application: all}}}}, name: stopped}}
- write: {{name: meanwhile, records: 2000}}
{middle}
- heal: {{only: [stopped]}}
arms:
- {{name: {name}, producer: {{acks: all}}{promise}}}
"""
_DELETED = {"middle": "- delete_records: {before: 2500}", "promise": ", promise: {unprocessed: 1500}"}
_OVERTAKEN = experiment(
    _TEXT, ONE_BROKER, name="overtaken", title="and retention overtakes it", output="{}", **_DELETED
)
_BETWEEN_CLUSTERS = experiment(
    _TEXT,
    ONE_BROKER,
    name="between-clusters",
    title="and retention overtakes it; the mirror is on a second cluster",
    output="{cluster: {}}",
    **_DELETED,
)
_KEPT = experiment(
    _TEXT, ONE_BROKER, name="kept", title="and nothing is deleted", output="{}", middle="", promise=""
)
_WRITTEN = (precondition(acked("before", 1000)), precondition(acked("meanwhile", 2000)), drained())

CLAIM = Claim(
    id="A9",
    title="MirrorMaker 2 passes over what retention has deleted, and goes on without an error",
    words="If retention overtakes MirrorMaker 2 while it is stopped, or slow, it goes on at the oldest "
    "record that is left. It reports no error: the mirror has a gap.",
    set_up="MirrorMaker 2 mirrors 1,000 records and is stopped in a controlled way. 2,000 more are "
    "written, and the first 1,500 of them are deleted (DeleteRecords, as retention would). It is started "
    "again. The mirror is on the same cluster in one arm, and on a second one in the other. Control: nothing "
    "is deleted.",
    arms=(
        claim_arm(_OVERTAKEN, unprocessed(1500), reprocessed(0, 0), *_WRITTEN),
        claim_arm(_BETWEEN_CLUSTERS, unprocessed(1500), reprocessed(0, 0), *_WRITTEN),
        control_arm(_KEPT, unprocessed(0), *_WRITTEN),
    ),
)
