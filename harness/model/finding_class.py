"""The classes of findings, and when each breaks the verdict of its run."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Breaks(StrEnum):
    """When a finding of a class makes the verdict of its run `invalid`. For all but `ALWAYS` and `NEVER`,
    more of them than an explicit promise allows do so too."""

    ALWAYS = "yes"
    WHEN_IDEMPOTENT = "when idempotent"
    WHEN_ORDERED = "when the settings keep the order"
    WHEN_READ_COMMITTED = "when transactions poll committed records only"
    UNLESS_AT_MOST_ONCE = "unless the application promises at-most-once"
    UNLESS_AT_LEAST_ONCE = "unless the application promises at-least-once"
    AS_PROMISED = "as promised"
    NEVER = "no"


class FindingClass(StrEnum):
    """The classes of findings: name, how the verdict words a finding, and when it breaks the verdict: always,
    if nothing else is said; never, if the verdict has no words for it.

    A record is in at most one of the classes about records; those from `invented` on are about outputs of
    applications, deliveries, groups, share groups, transactions, replicas and ids, and are counted in
    addition.
    Classes that always break the verdict are named worst first. The docstrings of their rules define them
    (`checkers/*/classes.py`); `kafka-chaos findings` prints them.
    """

    _value_: str
    breaks: Breaks
    reason: str
    """What follows a number of findings above 1 in a reason of the verdict ("": never a reason)."""

    def __new__(cls, value: str, reason: str = "", breaks: Breaks = Breaks.ALWAYS) -> Self:
        member = str.__new__(cls, value)
        member._value_, member.reason, member.breaks = value, reason, breaks if reason else Breaks.NEVER
        return member

    LOST = "lost", "acknowledged records are lost"
    DUPLICATE = "duplicate", "records are in the log more than once", Breaks.WHEN_IDEMPOTENT
    PHANTOM = "phantom", "records are in the log that this run never sent"
    CORRUPT = "corrupt", "records are corrupt"
    MISPLACED = "misplaced", "records are read from another topic or partition than sent to"
    REJECTED_PRESENT = "rejected_present", "refused records are in the log all the same"
    VANISHED = "vanished", "records are gone from the log after a reader was given them"
    INCONSISTENT_OFFSET = (
        "inconsistent_offset",
        "records are at another offset than acknowledged or read before",
    )
    ABORTED_READ = "aborted_read", "aborted records are given to a reader of committed records"
    TORN_TRANSACTION = (
        "torn_transaction",
        "committed records are missing from a transaction of which others are read",
    )
    REORDERED = "reordered", "records are in the log after one that was sent later", Breaks.WHEN_ORDERED
    RECOVERED = "recovered"
    UNCONFIRMED_ABSENT = "unconfirmed_absent", "unconfirmed records are absent", Breaks.AS_PROMISED
    EXPIRED = "expired"
    COMPACTED = "compacted"
    INVENTED = "invented", "outputs are of no input of this run"
    PREMATURE = "premature", "inputs have outputs that they must not have"
    UNPROCESSED = "unprocessed", "inputs have no output", Breaks.UNLESS_AT_MOST_ONCE
    REPROCESSED = "reprocessed", "inputs have more outputs than they should", Breaks.UNLESS_AT_LEAST_ONCE
    REORDERED_OUTPUT = (
        "reordered_output",
        "inputs have their output after that of a later input, though the application promises an order",
    )
    SKIPPED = "skipped", "times a reader passed over records that the log holds"
    NONMONOTONIC_READ = "nonmonotonic_read", "times a reader's offsets went back without a new assignment"
    REDELIVERED = "redelivered"
    COMMIT_LOST = "commit_lost", "committed offsets of a group are lost"
    COMMIT_AHEAD = "commit_ahead", "offsets are committed beyond what the members of the group had processed"
    TWO_OWNERS = (
        "two_owners",
        "times two members of a group owned a partition at once and were given its records",
    )
    FOREIGN_COMMIT = "foreign_commit", "commits are accepted from a member that does not own the partition"
    COMMIT_STALE = "commit_stale"
    SHARE_LOST = "share_lost", "times a share group passed over records that none of its members was given"
    SHARE_AGAIN = (
        "share_again",
        "records are given to a share group again after they were accepted or rejected",
    )
    SHARE_ARCHIVED_UNSEEN = (
        "share_archived_unseen",
        "records are finished for a share group without being accepted, rejected or at the delivery limit",
    )
    SHARE_STUCK = "share_stuck", "times records of a share group are given to nobody any more"
    SHARE_DOUBLE_LEASE = "share_double_lease", "records are held by two members of a share group at once"
    SHARE_OVER_LIMIT = (
        "share_over_limit",
        "records are given to a share group more often than its delivery limit allows",
    )
    SHARE_REDELIVERED = "share_redelivered"
    CIRCULAR_INFORMATION_FLOW = (
        "circular_information_flow",
        "times transactions have polled each other's records in a circle",
        Breaks.WHEN_READ_COMMITTED,
    )
    WRITE_CYCLE = "write_cycle"
    FRACTURED_READ = "fractured_read"
    DIVERGED = "diverged", "times replicas hold different records at an offset below the high watermark"
    LOST_ID = "lost_id", "acknowledged ids are in no record of the log"
    DUPLICATE_ID = "duplicate_id", "ids are in the log more often than they are meant to be"
    PHANTOM_ID = "phantom_id", "ids are in the log that no send of this run has"
    REORDERED_ID = (
        "reordered_id",
        "ids have records in the log in another order than sent",
        Breaks.WHEN_ORDERED,
    )


BY_ABSENCE = (
    *(FindingClass.LOST, FindingClass.EXPIRED, FindingClass.COMPACTED, FindingClass.VANISHED),
    *(FindingClass.UNCONFIRMED_ABSENT, FindingClass.TORN_TRANSACTION, FindingClass.PREMATURE),
    FindingClass.LOST_ID,
)
"""Classes that say what the final read lacks. Where it did not begin (the run was interrupted, or the cluster
did not settle), there are none of them."""
