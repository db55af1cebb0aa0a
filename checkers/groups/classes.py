"""Classes of findings about the progress of consumer groups: committed offsets, and owners of partitions.

The rules are in `checkers.groups.rules`; here are the definitions and sentences of what these find. Their
facts are rows of `checkers.groups.anomalies.ANOMALIES`, with `at`, the partition as `topic-partition`.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column

from checkers.classes.base import Facts, finding_class, rules_in
from checkers.evidence.sentences import say, when

_group_class = partial(finding_class, subject="group")
_COMMITTED = "{reader} of group {group} committed offset {offset} of {at}"


def _missing_detail(r: Facts, then: str) -> Column:
    answer = " answered {answered_offset:no offset}, and " + then
    return say(f"{_COMMITTED} and was told that it is done, then ", _broker(r), answer)


def _broker(r: Facts) -> Column:
    """Who answered; below 0 if the committed offset was asked for through a client, which does not say."""
    return when(r.broker < 0, "the coordinator", "broker {broker}")


@_group_class(lambda r: _missing_detail(r, "the commit did not come back"))
def commit_lost(r: Facts) -> Column:
    """A commit was answered without an error, and the group's coordinator later answered a lower offset, or
    none, without a commit that explains it. It did not come back: either the last answer of the run still
    lacks it, or the files of `__consumer_offsets` hold an older commit of the partition and not this one, on
    any replica. Offsets that expired, or that were deleted with their topic, are not lost. One finding per
    partition and stretch of such answers, about the highest commit that they lack; `count` is the number of
    answers.

    Source: a coordinator answers a commit when it is replicated (Kafka documentation, Distribution, Consumer
    Offset Tracking).
    Example: offset 200 was committed; after the coordinator had moved, the group's committed offset was 120.
    """
    return r.kind == "commit_lost"


@_group_class(lambda r: _missing_detail(r, "later answers have the commit again"))
def commit_stale(r: Facts) -> Column:
    """As `commit_lost`, but the commit was back in a later answer, or is in the replicas' files: a
    coordinator that had just been elected, or that did not know yet that it had been replaced, answered from
    an old state. No commit is lost. Requests with require_stable (KIP-447) wait instead. A client that asks
    without it at such a moment begins to read at an older offset, or where its auto.offset.reset says, which
    may be the end of the log (docs/explanation/stale-commits.md).

    Source: a new coordinator answers when it has read its partition of `__consumer_offsets` (Kafka
    documentation, Distribution, Consumer Offset Tracking); since the coordinator of Kafka 4.0 from its state
    up to the partition's high watermark (KAFKA-15910).
    Example: offset 1006 was committed; a second after the leader was killed the answer was 0, and then 1006.
    """
    return r.kind == "commit_stale"


def _ahead_detail(r: Facts) -> Column:
    early = " answered offset {answered_offset} of {at} for group {group}, which only a transaction sets "
    ahead = f"{_COMMITTED}, {{count}} record(s) beyond what its members had processed"
    return when(r.kind == "transaction_early", say(_broker(r), early, "that had not committed"), ahead)


@_group_class(_ahead_detail)
def commit_ahead(r: Facts) -> Column:
    """A member committed an offset, and the log holds records below it and beyond all that the members of the
    group had processed by the time of the answer: if the member ends now, nobody processes them. Automatic
    commits are left out, because the client makes them while it returns records. One finding per member and
    partition, about the commit that was furthest ahead, with the `count` of records.
    Or a coordinator answered an offset that only a transaction sets, before its commit was asked for or
    although it was aborted.

    Source: the committed offset is that of the next record to be processed (Kafka documentation, Consumer);
    KIP-447 for transactions.
    Example: the members had processed offsets up to 39, and one of them committed 80.
    """
    return r.kind.isin("commit_ahead", "transaction_early")


@_group_class(f"{_COMMITTED} without owning the partition, and the coordinator accepted it")
def foreign_commit(r: Facts) -> Column:
    """A commit was answered without an error, and its member owned the partition at no time between request
    and answer; or the partition had been assigned to another member since, before the request. Where the time
    of the request is not known: the member had owned the partition at no time before the answer. One finding
    per member and partition, about the first such commit; `count` is the number of them.

    Source: only the owner of a partition commits its offsets (Kafka documentation, Consumer; KIP-848 fences
    by member epoch, not by partition).
    Example: the partition was revoked from a member, which committed it again ten seconds later.
    """
    return r.kind == "foreign_commit"


@_group_class(
    "{reader} and {other} of group {group} owned {at} at once and both were given records; the second one "
    "was given {count} record(s) before the first had given it up"
)
def two_owners(r: Facts) -> Column:
    """A partition was assigned to a member, or by the member to itself (assign()), before another had
    confirmed its revocation, and both received records of it in that time. It counts only while the
    coordinator cannot have expired the first owner: within the session time-out of its last contact, which is
    its assignment or the request of a commit that was answered without an error. If the first owner reports
    the partition as lost instead of revoked, there is no finding: it may have been expired.

    Source: a partition is assigned anew when its owner has confirmed the revocation (KIP-848, Rebalance
    Process; KIP-429 for cooperative, eager members give up all before they join).
    Example: member 1 was given offset 70 at 12:00:05, and member 0, which gave the partition up at 12:00:09,
    was given offset 71 at 12:00:07.
    """
    return r.kind == "two_owners"


CLASSES = rules_in(globals())
