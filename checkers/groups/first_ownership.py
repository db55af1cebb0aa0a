"""What a group owes from the end of its first ownership of a partition on, if it begins at the end of the log
wherever it has no committed offset.

A group with auto.offset.reset=latest that owned a partition while nothing was written to it was given no
record, and has often committed no offset. When it comes back it begins at the end again, and what was written
in between is given to none of its members.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.journals.footers import rows_of
from checkers.journals.views import Views

_KEYS = ("group", "topic_partition")


def owed_offsets(views: Views) -> DataFrame | None:
    """The groups that passed over what they owed from a partition because they began at the log's end.

    Of groups all of whose members have auto.offset.reset=latest, and that had committed no offset of the
    partition before they were given its first record.

    Returns: one row per group and partition: `group`, `topic_partition`, `owed` (bigint: the least offset of
        the records that were sent after the end of the first ownership, and acknowledged) and `first_given`
        (bigint: the least offset that a member was given, above `owed`). None: there is no such group, or no
        journal of assignments.
    """
    groups = latest_groups(views)
    if not groups or not rows_of(views.files["assignments"]):
        return None
    readers = [(one.name, one.group) for one in views.readers if one.group in groups]
    members = F.broadcast(views.spark.createDataFrame(readers, "reader string, group string"))
    sent = views.sends.where(F.col("offset").isNotNull())
    sent = sent.join(F.broadcast(_ends_of_first_ownership(views, members)), "topic_partition")
    owed = sent.where(F.col("sent_ns") > F.col("ended_ns")).groupBy(*_KEYS).agg(F.min("offset").alias("owed"))
    given = (
        views.live.join(members, "reader")
        .groupBy(*_KEYS)
        .agg(F.min("offset").alias("first_given"), F.min("read_ns").alias("given_ns"))
    )
    found = owed.join(given, list(_KEYS)).where(F.col("owed") < F.col("first_given"))
    committed = reduce(DataFrame.unionByName, _offsets_known(views, members, groups))
    before = committed.join(given.select(*_KEYS, "given_ns"), list(_KEYS))
    before = before.where(F.col("known_ns") < F.col("given_ns"))
    return found.join(before, list(_KEYS), "left_anti").select(*_KEYS, "owed", "first_given")


def latest_groups(views: Views) -> set[str]:
    """The groups all of whose members have auto.offset.reset=latest."""
    resets: dict[str, set[str | None]] = {}
    for reader in views.readers:
        if reader.group is not None:
            resets.setdefault(reader.group, set()).add(reader.reset)
    return {group for group, found in resets.items() if found == {"latest"}}


def _ends_of_first_ownership(views: Views, members: DataFrame) -> DataFrame:
    """When the first owner of a partition gave it up or lost it: `group`, `topic_partition`, `ended_ns`."""
    rows = views.assignments.join(members, "reader").select(*_KEYS, "reader", "event", "at_ns")
    assigned = rows.where(F.col("event") == "assigned").groupBy(*_KEYS)
    first = assigned.agg(F.min(F.struct("at_ns", "reader")).alias("first"))
    first = first.select(
        *_KEYS, F.col("first.at_ns").alias("begun_ns"), F.col("first.reader").alias("reader")
    )
    ends = rows.where(F.col("event").isin("revoked", "lost")).join(first, [*_KEYS, "reader"])
    ends = ends.where(F.col("at_ns") >= F.col("begun_ns"))
    return ends.groupBy(*_KEYS).agg(F.min("at_ns").alias("ended_ns"))


def _offsets_known(views: Views, members: DataFrame, groups: set[str]) -> list[DataFrame]:
    """From when on each group may have had a committed offset (`group`, `topic_partition`, `known_ns`): since
    a commit of its members, unless a transaction was aborted with it, or since a coordinator's answer."""
    aborted = (F.col("kind") == "transaction") & (F.col("error") == "ABORTED")
    commits = views.commits.where(~F.coalesce(aborted, F.lit(False))).join(members, "reader")
    answers = views.offsets.where(F.col("group").isin(*groups) & F.col("offset").isNotNull())
    answers = answers.where((F.col("source") == "fetch") & F.col("error").isNull())
    return [
        commits.select(*_KEYS, F.coalesce("asked_ns", "at_ns").alias("known_ns")),
        answers.select(*_KEYS, F.col("at_ns").alias("known_ns")),
    ]
