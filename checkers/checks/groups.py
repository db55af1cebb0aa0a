"""Checks of the progress of consumer groups: committed offsets, and owners of partitions.

Each takes rows of `checkers.facts.progress.PROGRESS` and returns which of them are of its class.
"""

from __future__ import annotations

import numpy as np

from checkers.checks.base import Rows, check
from checkers.checks.sentences import FindingRows, Text, otherwise, say, when
from checkers.facts.columns import Flags
from checkers.facts.progress import AHEAD, EARLY, FOREIGN, LOST, SHARED, STALE
from harness.model.result import FindingClass


def _committed(rows: FindingRows) -> Text:
    by = say(rows.text("reader"), " of ")
    return say(
        otherwise(by, ""),
        *("group ", rows.text("who"), " committed offset ", rows.number("offset"), " of ", rows.text("at")),
    )


def _answered(rows: FindingRows) -> Text:
    seen = otherwise(rows.number("seen"), "no offset")
    return say(" and was told that it is done, then ", _broker(rows), " answered ", seen)


def _broker(rows: FindingRows) -> Text:
    """Who answered; of groups that nobody asked about during the run, it is not known."""
    return when(rows["broker"] < 0, "the coordinator", say("broker ", rows.number("broker")))


def _gone(rows: FindingRows) -> Text:
    return say(_committed(rows), _answered(rows), ", and the commit did not come back")


@check(FindingClass.COMMIT_LOST, _gone, subject="group")
def commit_lost(rows: Rows) -> Flags:
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
    return np.asarray(rows["kind"] == LOST)


def _for_a_while(rows: FindingRows) -> Text:
    return say(_committed(rows), _answered(rows), ", and later answers have the commit again")


@check(FindingClass.COMMIT_STALE, _for_a_while, subject="group")
def commit_stale(rows: Rows) -> Flags:
    """As `commit_lost`, but the commit was back in a later answer, or is in the replicas' files: a
    coordinator that had just been elected, or that did not know that it was one no more, answered from an
    old state. No commit is lost. Those who ask with require_stable (KIP-447) wait instead. A client that
    begins to read at such a moment and does not ask so begins at an older offset, or where its
    auto.offset.reset says, which may be behind all records (docs/explanation/stale-commits.md).

    Source: a new coordinator answers when it has read its partition of `__consumer_offsets` (Kafka
    documentation, Distribution, Consumer Offset Tracking); since the coordinator of Kafka 4.0 from its state
    up to the partition's high watermark (KAFKA-15910).
    Example: offset 1006 was committed; a second after the leader was killed the answer was 0, and then 1006.
    """
    return np.asarray(rows["kind"] == STALE)


def _beyond(rows: FindingRows) -> Text:
    ahead = say(", ", rows.number("count"), " record(s) beyond what its members had been given")
    early = say(
        *(_broker(rows), " answered offset ", rows.number("seen"), " of ", rows.text("at")),
        *(" for group ", rows.text("who"), ", which only a transaction sets that had not committed"),
    )
    return when(rows["kind"] == EARLY, early, say(_committed(rows), ahead))


@check(FindingClass.COMMIT_AHEAD, _beyond, subject="group")
def commit_ahead(rows: Rows) -> Flags:
    """A member committed an offset, and the log holds records below it and beyond all that the members of the
    group had been given by the time of the answer: if it ends now, nobody processes them. Commits that the
    client makes by itself are left out, because it makes them while it hands records over. One finding per
    member and partition, about the commit that was furthest ahead, with the `count` of records. Or a
    coordinator answered an offset that only a transaction sets, before its commit was asked for or although
    it was aborted.

    Source: the committed offset is that of the next record to be processed (Kafka documentation, Consumer);
    KIP-447 for transactions.
    Example: the members had been given offsets up to 39, and one of them committed 80.
    """
    return np.asarray((rows["kind"] == AHEAD) | (rows["kind"] == EARLY))


def _not_its_own(rows: FindingRows) -> Text:
    return say(_committed(rows), " without owning the partition, and the coordinator accepted it")


@check(FindingClass.FOREIGN_COMMIT, _not_its_own, subject="group")
def foreign_commit(rows: Rows) -> Flags:
    """A commit was answered without an error, and its member owned the partition at no time between asking
    and the answer; or another member had been assigned it since, before it was asked for. Of commits of which
    the time of asking is not known: the member had owned it at no time before the answer. One finding per
    member and partition, of the first such commit; `count` is the number of them.

    Source: only the owner of a partition commits its offsets (Kafka documentation, Consumer; KIP-848 fences
    by member epoch, not by partition).
    Example: the partition was revoked from a member, which committed it again ten seconds later.
    """
    return np.asarray(rows["kind"] == FOREIGN)


def _both(rows: FindingRows) -> Text:
    return say(
        *(rows.text("reader"), " and ", rows.text("other"), " of group ", rows.text("who")),
        *(" owned ", rows.text("at"), " at once and both were given records; the second one was given "),
        *(rows.number("count"), " record(s) before the first had given it up"),
    )


@check(FindingClass.TWO_OWNERS, _both, subject="group")
def two_owners(rows: Rows) -> Flags:
    """A partition was assigned to a member, or by the member to itself (assign()), before another had
    confirmed its revocation, and both were given records of it in that time. It counts only while the
    coordinator cannot have expired the first owner: within the session time-out of its last contact, which is
    its assignment or the asking of a commit that was answered without an error. A partition that a member
    reports as lost is not one that it gave up.

    Source: a partition is assigned anew when its owner has confirmed the revocation (KIP-848, Rebalance
    Process; KIP-429 for cooperative, eager members give up all before they join).
    Example: member 1 was given offset 70 at 12:00:05, and member 0, which gave the partition up at 12:00:09,
    was given offset 71 at 12:00:07.
    """
    return np.asarray(rows["kind"] == SHARED)
