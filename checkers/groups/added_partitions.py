"""What a group passed over of partitions that its topic was given while it read the others.

A group learns of a new partition when a member asks for metadata again. With auto.offset.reset=latest it then
begins at the end of that partition, as it has no committed offset of it, and what was written before is given
to none of its members (Kafka documentation, Consumer Configs, auto.offset.reset; KAFKA-20539).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.groups.first_ownership import (
    first_given,
    latest_groups,
    members_of,
    offsets_known,
    owed_by_groups,
)
from checkers.journals.created_again import since_created
from checkers.journals.footers import row_count
from checkers.journals.views import Views

_KEYS = ("group", "topic_partition")
_KIND = "add_partitions"
_REASON = (
    ": the partition was added while the group read the others, and records were written to it before the "
    "group learned of it; it had committed no offset of it, and was reset to its end "
    "(auto.offset.reset=latest)"
)


def written_before_it_knew(views: Views, live: DataFrame) -> DataFrame | None:
    """The groups that were reset to the end of a partition that was added while they read the others.

    Of groups all of whose members have auto.offset.reset=latest. A member had been assigned another partition
    of the topic before the first record was sent to the new one, and a record of that was acknowledged before
    a member was assigned the new one, of which no committed offset was known by then.

    Returns: rows as `checkers.groups.first_ownership.owed_offsets`, from the first offset of the partition
        on. None: there is no such group, or no partition was added.
    """
    meta, groups = views.meta, latest_groups(views)
    at_start = meta.partitions if meta.partitions_at_start is None else meta.partitions_at_start
    bounds = meta.final_read.bounds if meta.final_read is not None else ()
    added = any(bound.topic == meta.topic and bound.partition >= at_start for bound in bounds)
    if not groups or not added or not row_count(views.files["assignments"]):
        return None
    members, of_topic = members_of(views, groups), F.col("topic") == meta.topic
    is_new = of_topic & (F.col("partition") >= at_start)
    owners = views.assignments.where(of_topic & (F.col("event") == "assigned"))
    owners = since_created(views, owners, "at_ns").join(members, "reader")
    begun = owners.groupBy("group").agg(F.min("at_ns").alias("begun_ns"))
    learned = owners.where(is_new).groupBy(*_KEYS).agg(F.min("at_ns").alias("learned_ns"))
    # Without such a fault, somebody else added the partitions.
    additions = [window.opened_ns for window in meta.windows if window.kind == _KIND]
    if additions:
        begun = begun.where(F.col("begun_ns") < max(additions))
    known = offsets_known(views, members, groups).join(learned, list(_KEYS))
    learned = learned.join(
        known.where(F.col("known_ns") < F.col("learned_ns")).select(*_KEYS), list(_KEYS), "left_anti"
    ).join(begun, "group")
    sent = (
        since_created(views, views.sends, "sent_ns")
        .where(is_new)
        .join(F.broadcast(learned), "topic_partition")
    )
    before = F.when(F.col("closed_ns") < F.col("learned_ns"), F.col("offset"))
    written = sent.groupBy(*_KEYS, "begun_ns").agg(
        F.min("sent_ns").alias("first_ns"), F.max(before).alias("last")
    )
    written = written.where((F.col("begun_ns") < F.col("first_ns")) & F.col("last").isNotNull())
    first = F.lit(0).cast("bigint")
    written = written.join(first_given(live, members), list(_KEYS), "left")
    # What is written after the assignment may still be given to it.
    last = F.when(F.col("first_given").isNull(), F.col("last")).otherwise(first)
    return owed_by_groups(written.withColumns({"owed": first, "last_owed": last, "reason": F.lit(_REASON)}))
