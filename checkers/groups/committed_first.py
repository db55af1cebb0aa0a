"""What a group passed over because it committed before any of its members had processed a record.

A group with auto.offset.reset=earliest and without a committed offset begins at the first offset of a
partition (Kafka documentation, Consumer Configs, auto.offset.reset). If a member commits a batch before it
processes it, as at-most-once applications do, and dies with its first batch, the group goes on behind records
of which none was ever processed.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.groups.first_ownership import first_given, groups_that_reset_to, members_of, owed_by_groups
from checkers.journals.created_again import since_created
from checkers.journals.views import Views

_KEYS = ("group", "topic_partition")
_REASON = (
    ": it began at the first offset (auto.offset.reset=earliest), and committed before it had processed any"
)


def committed_first(views: Views, live: DataFrame) -> DataFrame | None:
    """The groups that committed an offset of a partition before they were given its first record.

    Of groups all of whose members have auto.offset.reset=earliest. The coordinator has answered that the
    group has no committed offset of the partition, and nobody else committed one before its member did.
    `live` is what the readers were given (`checkers.journals.created_again.live_of_topics`).

    Returns: rows as `checkers.groups.first_ownership.owed_offsets`, from the first offset of the partition
        on. None: there is no such group, or no journal of commits.
    """
    groups = groups_that_reset_to(views, "earliest")
    if not groups or not views.files["commits"] or not views.files["offsets"]:
        return None
    members = members_of(views, groups)
    commits = since_created(views, views.commits, "at_ns").where(F.col("error").isNull())
    asked = F.coalesce("asked_ns", "at_ns")
    of_group = commits.join(members, "reader").groupBy(*_KEYS)
    own = of_group.agg(F.min(asked).alias("committed_ns"), F.max("offset").alias("next"))
    own = own.where(F.col("next") > 0)
    answers = since_created(views, views.offsets, "asked_ns").where(F.col("group").isin(*groups))
    answers = answers.where((F.col("source") == "fetch") & F.col("error").isNull())
    before = answers.join(own, list(_KEYS)).where(F.col("at_ns") < F.col("committed_ns"))
    began = before.groupBy(*_KEYS, "committed_ns").agg(F.bool_and(F.col("offset").isNull()).alias("without"))
    rows = began.where("without").join(first_given(live, members), list(_KEYS), "left")
    # Whoever processes what it has committed was given the first record, too.
    rows = rows.where(F.coalesce(F.col("committed_ns") < F.col("given_ns"), F.lit(True)))
    rows = rows.where(F.coalesce(F.col("first_given") > 0, F.lit(True)))
    first = F.lit(0).cast("bigint")
    return owed_by_groups(rows.withColumns({"owed": first, "last_owed": first, "reason": F.lit(_REASON)}))
