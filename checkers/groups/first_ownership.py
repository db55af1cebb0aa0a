"""What a group owes from the end of its first ownership of a partition on, if it begins at the end of the log
wherever it has no committed offset.

A group with auto.offset.reset=latest that owned a partition while nothing was written to it was given no
record, and has often committed no offset. When it comes back it begins at the end again, and what was written
in between is given to none of its members.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.deliveries.owed import OWED
from checkers.journals.created_again import since_created
from checkers.journals.footers import row_count
from checkers.journals.views import Views
from checkers.sql import comparable

_KEYS = ("group", "topic_partition")
_RESET_TO_LATEST = (
    ": it had owned the partition before they were written, had committed no offset, and was reset to the "
    "end of the log (auto.offset.reset=latest)"
)


def owed_offsets(views: Views, live: DataFrame) -> DataFrame | None:
    """The groups that passed over what they owed from a partition because they began at the log's end.

    Of groups all of whose members have auto.offset.reset=latest, and that had committed no offset of the
    partition before they were given its first record. `live` is what the readers were given
    (`checkers.journals.created_again.live_of_topics`).

    Returns: rows of `checkers.deliveries.owed.OWED`: `owed` is the least offset of the records that were
        sent after the end of the first ownership, and acknowledged. None: there is no such group, or no
        journal of assignments.
    """
    groups = latest_groups(views)
    if not groups or not row_count(views.files["assignments"]):
        return None
    members = members_of(views, groups)
    sent = since_created(views, views.sends.where(F.col("offset").isNotNull()), "sent_ns")
    sent = sent.join(F.broadcast(_ends_of_first_ownership(views, members)), "topic_partition")
    owed = sent.where(F.col("sent_ns") > F.col("ended_ns")).groupBy(*_KEYS).agg(F.min("offset").alias("owed"))
    rows = owed.join(first_given(live, members), list(_KEYS)).where(F.col("owed") < F.col("first_given"))
    before = offsets_known(views, members, groups).join(rows.select(*_KEYS, "given_ns"), list(_KEYS))
    before = before.where(F.col("known_ns") < F.col("given_ns"))
    rows = rows.join(before, list(_KEYS), "left_anti").withColumn("last_owed", F.col("owed"))
    return owed_by_groups(rows.withColumn("reason", F.lit(_RESET_TO_LATEST)))


def owed_by_groups(rows: DataFrame) -> DataFrame:
    """Rows of `OWED`, from rows with the `group` and the columns from `topic_partition` on."""
    who = {"subscriber": F.col("group"), "in_group": F.lit(True), "session": F.lit(0)}
    return rows.withColumns(who).select(*OWED)


def members_of(views: Views, groups: set[str]) -> DataFrame:
    """The members of these groups: `reader` and `group`."""
    readers = [(reader.name, reader.group) for reader in views.readers if reader.group in groups]
    return F.broadcast(views.spark.createDataFrame(readers, "reader string, group string"))


def first_given(live: DataFrame, members: DataFrame) -> DataFrame:
    """What each group was given first of each partition: `group`, `topic_partition`, `first_given` (bigint,
    the least offset) and `given_ns` (bigint, when the first record was given)."""
    of_group = live.join(members, "reader").groupBy(*_KEYS)
    return of_group.agg(F.min("offset").alias("first_given"), F.min("read_ns").alias("given_ns"))


def latest_groups(views: Views) -> set[str]:
    """The groups all of whose members have auto.offset.reset=latest."""
    return groups_that_reset_to(views, "latest")


def groups_that_reset_to(views: Views, where: str) -> set[str]:
    """The groups all of whose members have this auto.offset.reset."""
    resets: dict[str, set[str | None]] = {}
    for reader in views.readers:
        if reader.group is not None:
            resets.setdefault(reader.group, set()).add(reader.reset)
    return {group for group, settings in resets.items() if settings == {where}}


def _ends_of_first_ownership(views: Views, members: DataFrame) -> DataFrame:
    """When the first owner of a partition gave it up or lost it: `group`, `topic_partition`, `ended_ns`."""
    rows = (
        since_created(views, views.assignments, "at_ns")
        .join(members, "reader")
        .select(*_KEYS, "reader", "event", "at_ns")
    )
    assigned = rows.where(F.col("event") == "assigned").groupBy(*_KEYS)
    first = assigned.agg(F.min(comparable("at_ns", "reader")).alias("first"))
    first = first.select(
        *_KEYS, F.col("first.at_ns").alias("begun_ns"), F.col("first.reader").alias("reader")
    )
    ends = rows.where(F.col("event").isin("revoked", "lost")).join(first, [*_KEYS, "reader"])
    ends = ends.where(F.col("at_ns") >= F.col("begun_ns"))
    return ends.groupBy(*_KEYS).agg(F.min("at_ns").alias("ended_ns"))


def offsets_known(views: Views, members: DataFrame, groups: set[str]) -> DataFrame:
    """From when on each group may have had a committed offset (`group`, `topic_partition`, `known_ns`): since
    a commit of its members, unless a transaction was aborted with it, or since a coordinator's answer."""
    aborted = (F.col("kind") == "transaction") & (F.col("error") == "ABORTED")
    commits = since_created(views, views.commits, "at_ns").where(~F.coalesce(aborted, F.lit(False)))
    commits = commits.join(members, "reader")
    answers = since_created(views, views.offsets, "asked_ns").where(
        F.col("group").isin(*groups) & F.col("offset").isNotNull()
    )
    answers = answers.where((F.col("source") == "fetch") & F.col("error").isNull())
    of_commits = commits.select(*_KEYS, F.coalesce("asked_ns", "at_ns").alias("known_ns"))
    return of_commits.unionByName(answers.select(*_KEYS, F.col("at_ns").alias("known_ns")))
