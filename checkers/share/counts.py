"""Numbers of deliveries to share groups, and of their acknowledgements."""

from __future__ import annotations

from pyspark.sql import functions as F

from checkers.journals.offset_chunks import bits_of, chunk_of
from checkers.journals.views import Views
from harness.model.result import ShareCount


def share_counts(views: Views) -> tuple[ShareCount, ...]:
    """The counts of each share group of the run."""
    infos = views.meta.share
    if not infos:
        return ()
    sent, answered = F.col("acknowledgement"), F.col("answered_ns").isNotNull()
    done = answered & F.col("error").isNull()
    counted = {
        "deliveries": F.lit(True),
        "accepted": done & (sent == "accept"),
        "released": done & (sent == "release"),
        "rejected": done & (sent == "reject"),
        "failed": answered & F.col("error").isNotNull(),
        "unanswered": ~answered & sent.isNotNull(),
    }
    # First by 64 offsets, whose bits say which of them are records.
    offset = F.col("offset")
    chunks = views.deliveries.groupBy("group", "topic_partition", chunk_of(offset).alias("chunk")).agg(
        F.bit_count(F.bit_or(bits_of(offset))).alias("records"),
        *(F.count_if(condition).alias(name) for name, condition in counted.items()),
    )
    groups = chunks.groupBy("group").agg(*(F.sum(name).alias(name) for name in ("records", *counted)))
    found = {row.group: row.asDict() for row in groups.collect()}
    nothing = dict.fromkeys(("records", *counted), 0)
    return tuple(
        ShareCount.model_validate({**nothing, **found.get(info.group, {}), "group": info.name})
        for info in infos
    )
