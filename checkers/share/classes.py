"""Classes of findings about share groups (KIP-932).

The rules are in `checkers.share.rules`; here are the definitions and sentences of what these find. Their
facts are rows of `checkers.groups.anomalies.ANOMALIES`, with `at`, the partition as `topic-partition`.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column

from checkers.classes.base import Facts, finding_class, rules_in
from checkers.evidence.sentences import if_null

_share_class = partial(finding_class, subject="share")


@_share_class(
    "{count} offset(s) of {at} from {offset} on were given to no member of share group {group}, which has "
    "finished them; its start offset is {start_offset}"
)
def share_lost(r: Facts) -> Column:
    """At the end records that the log holds and no member was ever given are finished for the share group:
    they are below its start offset, or its lag is 0 and a later record was given. Not judged where the
    delivery limit is 1 or 2, which a record may reach by deliveries that a client fetched and never returned.
    One finding per run of consecutive offsets, `count` of them.

    Source: every record is delivered at least once (KIP-932, Concepts and In-flight Records).
    Example: offsets 40 to 79 were given to nobody, and the group begins at offset 80.
    """
    return r.kind == "share_lost"


@_share_class(
    "offset {offset} of {at} was given to {other:a member} of share group {group} although {member:a member} "
    "had accepted or rejected it and was told that this is done"
)
def share_again(r: Facts) -> Column:
    """A record was acquired for a member of a share group after the answer to an earlier acknowledgement said
    that it is accepted or rejected. An answer with an error, or none, says nothing: the acknowledgement may
    or may not have taken effect. `count` is the number of such deliveries.

    Source: a record that is acknowledged or archived is not delivered again (KIP-932, In-flight Records).
    Example: member 0 accepted offset 12 and was answered without an error; a minute later member 1 got it.
    """
    return r.kind == "share_again"


@_share_class(
    "{other:a member} of share group {group} was given offset {offset} of {at} while {member:another member} "
    "held it and its lock had not ended"
)
def share_double_lease(r: Facts) -> Column:
    """Two members of a share group held one record at the same time: it was delivered to the second one
    before the acquisition lock of the first can have ended, and before the first sent its acknowledgement.
    Not judged where a leader changed, a fault was open, or a member of the group joined, ended, failed or was
    paused meanwhile: a broker releases what a lost session had acquired, and forgets it when it is no longer
    the leader. Two members accepting one record is not a finding by itself: a late acknowledgement is
    answered without an error if another member has accepted the record.

    Source: an acquired record is not delivered to others until its lock ends (KIP-932, In-flight Records).
    Example: member 0 was given offset 7 with a lock of 30 s, and member 1 got it 4 s later.
    """
    return r.kind == "share_double_lease"


_DELIVERIES_DETAIL = (
    "share group {group} was given offset {offset} of {at} {count} times, the last one as delivery "
    "{delivery_count:?}"
)


@_share_class(_DELIVERIES_DETAIL + ", above its limit")
def share_over_limit(r: Facts) -> Column:
    """A record was delivered to a share group more often than its delivery limit allows: the broker itself
    reported a greater count, or the members were given it more often with nothing in between after which a
    broker counts from 1 again (a new leader, a fault, a lost member). The limit is the one that the
    experiment sets.

    Source: group.share.delivery.count.limit (Kafka documentation, Group Configs; KIP-932, KIP-1240).
    Example: with a limit of 5, offset 3 came with delivery count 6.
    """
    return r.kind == "share_over_limit"


@_share_class(
    "share group {group} has finished offset {offset} of {at}, which was given {count} time(s), last to "
    "{member:a member}, and neither accepted nor rejected"
)
def share_archived_unseen(r: Facts) -> Column:
    """At the end a record that the log holds is finished for the share group (as in `share_lost`), but none
    of its members ever sent that it accepts or rejects it, and it cannot have reached the delivery limit:
    neither with the deliveries in the journal nor with those that clients may have lost since (one for each
    lock duration that has passed, and for each member, leader or fault in between).

    Source: a record is archived when it is rejected or reaches the delivery limit (KIP-932, In-flight
    Records).
    Example: offset 30 was released once, the limit is 5, and the group begins at offset 60.
    """
    return r.kind == "share_archived_unseen"


_STUCK_DETAIL = (
    "share group {group} begins at offset {start_offset} of {at}, but {count} offset(s) from {offset} on "
    "are given to nobody, two locks after the last delivery"
)
_NO_START_OFFSET = (
    "share group {group} has no start offset in {at} yet: its members are given none of {count} offset(s) "
    "from {offset} on"
)


@_share_class(lambda _: if_null(_STUCK_DETAIL, _NO_START_OFFSET))
def share_stuck(r: Facts) -> Column:
    """At the end a partition has records that are not finished for the share group, its members ask for
    records, and nothing of the partition was delivered for twice the lock duration (and the time for which
    members hold a batch). Not judged if a leader changed, a fault was open, or a member joined, ended or
    failed in that time. A record whose acknowledgement was sent, or that was delivered as often as the limit
    allows, counts as finished. A group that has received nothing has no start offset yet, and is to begin at
    the start of the log; it is given 35 s, since a coordinator that takes over may begin it only after 30 s
    (group.share.initialize.retry.interval.ms). One finding per run of consecutive offsets, `count` of them.

    Source: a record whose lock ends becomes available again (KIP-932, In-flight Records).
    Example: lag 10, start offset 50, lock 3 s; offset 50 was given once and to nobody for 20 s.
    """
    return r.kind == "share_stuck"


@_share_class(_DELIVERIES_DETAIL)
def share_redelivered(r: Facts) -> Column:
    """A record was delivered to a share group more than once: after a release, the end of a lock, a lost
    member or a new leader this is allowed, and counted (`count` deliveries).

    Source: at-least-once delivery (KIP-932, In-flight Records).
    Example: a member was killed with offset 5, which another one was given two seconds later.
    """
    return r.kind == "share_redelivered"


CLASSES = rules_in(globals())
