"""Checks of share groups (KIP-932).

Each takes rows of `checkers.facts.share.SHARED` and returns which of them are of its class.
"""

from __future__ import annotations

import numpy as np

from checkers.checks.base import Rows, check
from checkers.checks.sentences import FindingRows, Text, otherwise, say
from checkers.facts.columns import Flags
from checkers.facts.share import AGAIN, DOUBLE_LEASE, LOST, OVER_LIMIT, REDELIVERED, STUCK, UNSEEN
from harness.model.result import FindingClass


def _place(rows: FindingRows) -> Text:
    return say("offset ", rows.number("offset"), " of ", rows.text("at"))


def _to_nobody(rows: FindingRows) -> Text:
    return say(
        *(rows.number("count"), " offset(s) of ", rows.text("at"), " from ", rows.number("offset"), " on"),
        *(" were given to no member of share group ", rows.text("who"), ", which has finished them; its "),
        *("start offset is ", rows.number("seen")),
    )


@check(FindingClass.SHARE_LOST, _to_nobody, subject="share")
def share_lost(rows: Rows) -> Flags:
    """At the end records that the log holds and no member was ever given are finished for the share group:
    they are below its start offset, or its lag is 0 and a later record was given. Not judged where the
    delivery limit is 1 or 2, which a record may reach with clients that could not hand it over. One finding
    per run of consecutive offsets, `count` of them.

    Source: every record is delivered at least once (KIP-932, Concepts and In-flight Records).
    Example: offsets 40 to 79 were given to nobody, and the group begins at offset 80.
    """
    return np.asarray(rows["kind"] == LOST)


def _was_finished(rows: FindingRows) -> Text:
    return say(
        *(_place(rows), " was given to ", rows.text("other"), " of share group ", rows.text("who")),
        *(" although ", otherwise(rows.text("reader"), "a member"), " had accepted or rejected it and was "),
        "told that this is done",
    )


@check(FindingClass.SHARE_AGAIN, _was_finished, subject="share")
def share_again(rows: Rows) -> Flags:
    """A record was acquired for a member of a share group after the answer to an earlier acknowledgement said
    that it is accepted or rejected. An answer with an error, or none, says nothing: the acknowledgement may
    or may not have taken effect. `count` is the number of such deliveries.

    Source: a record that is acknowledged or archived is not delivered again (KIP-932, In-flight Records).
    Example: member 0 accepted offset 12 and was answered without an error; a minute later member 1 got it.
    """
    return np.asarray(rows["kind"] == AGAIN)


def _both_hold(rows: FindingRows) -> Text:
    return say(
        *(rows.text("other"), " of share group ", rows.text("who"), " was given ", _place(rows), " while "),
        *(otherwise(rows.text("reader"), "another member"), " held it and its lock had not ended"),
    )


@check(FindingClass.SHARE_DOUBLE_LEASE, _both_hold, subject="share")
def share_double_lease(rows: Rows) -> Flags:
    """Two members of a share group held one record at the same time: the second one was given it before the
    lock of the first can have ended and before it sent its acknowledgement. Not judged where a leader
    changed, a fault was open, or a member of the group came, went, failed or stood still meanwhile: a broker
    releases what a lost session held, and forgets it with its leadership. Two members that both accept a
    record are none by themselves: a late acknowledgement is answered as done if another one accepted.

    Source: an acquired record is not delivered to others until its lock ends (KIP-932, In-flight Records).
    Example: member 0 was given offset 7 with a lock of 30 s, and member 1 got it 4 s later.
    """
    return np.asarray(rows["kind"] == DOUBLE_LEASE)


def _too_often(rows: FindingRows) -> Text:
    return say(
        *("share group ", rows.text("who"), " was given ", _place(rows), " ", rows.number("count")),
        *(" times, the last one as delivery ", otherwise(rows.number("seen"), "?"), ", above its limit"),
    )


@check(FindingClass.SHARE_OVER_LIMIT, _too_often, subject="share")
def share_over_limit(rows: Rows) -> Flags:
    """A record was delivered to a share group more often than its delivery limit allows: the broker itself
    told a greater count, or the members were given it more often with nothing in between after which a broker
    counts from 1 again (a new leader, a fault, a lost member). The limit is the one that the experiment sets.

    Source: group.share.delivery.count.limit (Kafka documentation, Group Configs; KIP-932, KIP-1240).
    Example: with a limit of 5, offset 3 came with delivery count 6.
    """
    return np.asarray(rows["kind"] == OVER_LIMIT)


def _given_up(rows: FindingRows) -> Text:
    return say(
        *("share group ", rows.text("who"), " has finished ", _place(rows), ", which was given "),
        *(rows.number("count"), " time(s), last to ", otherwise(rows.text("reader"), "a member")),
        ", and neither accepted nor rejected",
    )


@check(FindingClass.SHARE_ARCHIVED_UNSEEN, _given_up, subject="share")
def share_archived_unseen(rows: Rows) -> Flags:
    """At the end a record that the log holds is finished for the share group (as in `share_lost`), but none
    of its members ever sent that it accepts or rejects it, and it cannot have reached the delivery limit:
    neither with the deliveries that are known nor with those that clients may have lost since (one for each
    lock that has passed, and for each member, leader or fault that came in between).

    Source: a record is archived when it is rejected or reaches the delivery limit (KIP-932, In-flight
    Records).
    Example: offset 30 was released once, the limit is 5, and the group begins at offset 60.
    """
    return np.asarray(rows["kind"] == UNSEEN)


def _not_given(rows: FindingRows) -> Text:
    begins = say(
        *(" begins at offset ", rows.number("seen"), " of ", rows.text("at"), ", but "),
        *(rows.number("count"), " offset(s) from ", rows.number("offset")),
        " on are given to nobody, two locks after the last delivery",
    )
    never = say(
        *(" has no start offset in ", rows.text("at"), " yet: its members are given none of "),
        *(rows.number("count"), " offset(s) from ", rows.number("offset"), " on"),
    )
    return say("share group ", rows.text("who"), otherwise(begins, never))


@check(FindingClass.SHARE_STUCK, _not_given, subject="share")
def share_stuck(rows: Rows) -> Flags:
    """At the end a partition has records that are not finished for the share group, its members ask for
    records, and none of the partition was given for two locks (and the time that batches are held). Not
    judged if a leader changed, a fault was open or a member came, went or failed in that time. A record whose
    acknowledgement was sent, or that was given as often as the limit allows, counts as finished. A group that
    was given nothing has no start offset yet, and is to begin at the start of the log. One finding per run of
    consecutive offsets, `count` of them.

    Source: a record whose lock ends becomes available again (KIP-932, In-flight Records).
    Example: lag 10, start offset 50, lock 3 s; offset 50 was given once and to nobody for 20 s.
    """
    return np.asarray(rows["kind"] == STUCK)


def _once_more(rows: FindingRows) -> Text:
    return say(
        *("share group ", rows.text("who"), " was given ", _place(rows), " ", rows.number("count")),
        *(" times, the last one as delivery ", otherwise(rows.number("seen"), "?")),
    )


@check(FindingClass.SHARE_REDELIVERED, _once_more, subject="share")
def share_redelivered(rows: Rows) -> Flags:
    """A record was delivered to a share group more than once: after a release, the end of a lock, a lost
    member or a new leader this is allowed, and counted (`count` deliveries).

    Source: at-least-once delivery (KIP-932, In-flight Records).
    Example: a member was killed with offset 5, which another one was given two seconds later.
    """
    return np.asarray(rows["kind"] == REDELIVERED)
