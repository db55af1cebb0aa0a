"""Success reports that name one offset: more of them than there can have been leaders that gave it away."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.evidence.leadership import with_epochs
from checkers.journals.views import Views
from checkers.judgement.policy import Policy
from harness.model.journal import SendOutcome
from harness.model.result import DOUBTFUL_REPORTS, FALSE_REPORTS

_PLACE = ("topic_partition", "acked_offset")


def with_reports(
    rows: DataFrame, views: Views, absent: DataFrame | None, missing: Column, *, each_once: bool
) -> DataFrame:
    """The rows (of `checkers.evidence.leadership.with_tenures`) with `reports` and `true_reports` (int).

    Of records that are `missing`: the number of success reports that name its offset, and how many of these
    can be true at most, since the leader of an epoch gives an offset away once (null: it is not known how
    many epochs there were). Both are null where all of them can be true.

    Args:
        absent: the records (facts) among which the missing ones are; None: all offsets that were acknowledged
            are looked at, which is cheaper where much is missing.
        each_once: the journal holds no send twice, so rows are counted, which an engine does far faster.
    """
    acked = views.sends.where(F.col("outcome") == SendOutcome.ACKED.value)
    renewed = Policy.of(views.meta).recreated_ns
    if renewed is not None:
        # The offsets of the topic that was deleted are others.
        acked = acked.where(F.col("sent_ns") > renewed)
    acked = acked.withColumn("acked_offset", F.col("offset"))
    if absent is not None:
        wanted = absent.where(F.col("acked_offset").isNotNull()).select(*_PLACE).distinct()
        acked = acked.join(wanted, list(_PLACE), "left_semi")
    counted = acked.groupBy(*_PLACE).agg(
        (F.count("*") if each_once else F.count_distinct("producer", "seq")).alias("naming_it"),
        F.min("sent_ns").alias("first_sent"),
        F.max("closed_ns").alias("last_closed"),
    )
    joined = rows.join(counted.where("naming_it > 1"), list(_PLACE), "left")
    joined = with_epochs(joined, "most", F.col("first_sent"), F.col("last_closed"))
    too_many = missing & F.coalesce(F.col("naming_it") > F.coalesce("most", F.lit(1)), F.lit(False))
    joined = joined.withColumn("too_many", too_many)
    reports = {
        "reports": F.when(F.col("too_many"), F.col("naming_it").cast("int")),
        "true_reports": F.when(F.col("too_many"), F.col("most")),
    }
    return joined.withColumns(reports).drop("naming_it", "first_sent", "last_closed", "most", "too_many")


def doubt() -> Column:
    """What the reports of a record's offset are (string): `FALSE_REPORTS`, `DOUBTFUL_REPORTS`, or null."""
    certain = F.when(F.col("true_reports").isNull(), F.lit(DOUBTFUL_REPORTS)).otherwise(F.lit(FALSE_REPORTS))
    return F.when(F.col("reports").isNotNull(), certain)
