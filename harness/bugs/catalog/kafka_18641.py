"""KAFKA-18641: the Java consumer commits records that the application is still processing."""

from __future__ import annotations

from harness.bugs.clusters import SHORT_SESSIONS
from harness.bugs.expectations import invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.result import FindingClass
from harness.suite.expect_records import acked
from harness.suite.expectations import precondition

_NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")
_RECORDS, _BATCH, _TAKES = 240, 20, 0.8


def _arm(version: str, more: str = "") -> str:
    settings = (
        f"client: java, version: {version}, protocol: consumer, reset: earliest, commits: auto, "
        f"commit_every: 0.1, batch: {_BATCH}, takes: {_TAKES}"
    )
    readers = ", ".join(f"{{name: {name}, group: {name}, {settings}}}" for name in _NAMES)
    return f"- {{name: client-{version}, producer: {{acks: all}}, readers: [{readers}]{more}}}"


_CRASHES = "\n".join(
    f"- restart_reader: {{reader: {name}, received: {_BATCH * number}, after: {_TAKES - 0.15:g}, "
    "crash: true, away: true}"
    for number, name in enumerate(_NAMES, start=2)
)
_BACK = "\n".join(f"- restart_reader: {{reader: {name}}}" for name in _NAMES)
_SKIPPED = ', promise: {skipped: ">= 1"}'
_TEXT = f"""
name: kafka-18641
title: Applications with automatic commits are killed while they process a batch
topic: {{assignment: [[1]]}}
steps:
- write: {{name: records, records: {_RECORDS}}}
{_CRASHES}
{_BACK}
arms:
{_arm("3.9.2", _SKIPPED)}
{_arm("4.3.1", _SKIPPED)}
{_arm("4.1.1")}
"""
_KILLED = experiment(_TEXT, SHORT_SESSIONS)
_WRITTEN = precondition(acked("records", _RECORDS))
_SHOWN = (invalid_for(FindingClass.SKIPPED), _WRITTEN)

BUG = Bug(
    id="KAFKA-18641",
    title="The Java consumer commits records that the application has not processed yet",
    link="https://issues.apache.org/jira/browse/KAFKA-18641",
    words="With group.protocol=consumer the Java client commits from a thread in the background. Its "
    "automatic commits take the position at that moment. If it is also the moment at which poll() takes "
    "records out of the buffer, the commit includes records that the application has not been given yet. "
    "If it dies before it has processed them, no member of the group is given them again. Automatic commits "
    "are documented as at-least-once, if all records are processed before the next poll().",
    affected="kafka-clients 3.7 to 3.9 with group.protocol=consumer (seen with 3.9.2), and again since "
    "4.2.0, in which poll() does not wait any more until the thread in the background has taken the "
    "positions (KAFKA-18376). Of eight consumers that were killed 4 had committed too much with 4.2.0 and 2 "
    "with 4.4.0, in one run each, and 5 or 6 with 4.3.1.",
    fixed="kafka-clients 4.0.0 to 4.1 (none of eight with 4.0.0 and 4.1.1): poll() waits for that.",
    set_up=f"One broker and one partition with {_RECORDS} records. Eight groups of one consumer each read "
    f"them, {_BATCH} in a poll, which take {_TAKES:g} s to process; auto.commit.interval.ms=100. Each is "
    "killed once in the middle of a batch, and a new one continues. The broker is the same in all arms.",
    proof="In every arm the records were acknowledged, and every consumer was killed after it had been given "
    "a batch, and before it had processed it.",
    arms=(
        affected_arm(_KILLED, *_SHOWN, arm="client-3.9.2"),
        affected_arm(_KILLED, *_SHOWN, arm="client-4.3.1"),
        fixed_arm(_KILLED, valid(), _WRITTEN, arm="client-4.1.1"),
    ),
)
