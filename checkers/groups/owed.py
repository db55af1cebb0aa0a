"""What groups passed over of partitions, by each of the ways that are known."""

from __future__ import annotations

from pyspark.sql import DataFrame

from checkers.deliveries.delivered import SUBSCRIBER
from checkers.groups.added_partitions import written_before_it_knew
from checkers.groups.committed_first import committed_first
from checkers.groups.first_ownership import owed_offsets
from checkers.journals.views import Views


def passed_over(views: Views, live: DataFrame) -> list[DataFrame]:
    """Rows of `checkers.deliveries.owed.OWED`, at most one per subscriber and partition; `live` is what the
    readers were given (`checkers.journals.created_again.live_of_topics`)."""
    added, later = written_before_it_knew(views, live), owed_offsets(views, live)
    if added is not None and later is not None:
        partition = [*SUBSCRIBER, "topic_partition"]
        later = later.join(added.select(*partition), partition, "left_anti")
    # The groups of the last one begin at the earliest offset, those of the others at the latest.
    return [rows for rows in (added, later, committed_first(views, live)) if rows is not None]
