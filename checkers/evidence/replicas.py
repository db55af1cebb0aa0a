"""Which brokers' own segment files hold records that the final read lacks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.journals.views import IDENTITY
from harness.model.journal import ReadState


def held_by(replicas: DataFrame, missing: DataFrame) -> DataFrame:
    """One row per record of `missing` (with the identity) that a replica's file holds: the identity and
    `held_by` (array<int>, node ids of the brokers, ascending).

    Args:
        replicas: the journal `harness.model.journal.REPLICAS`.
    """
    mine = replicas.where(F.col("state") == ReadState.OK.value).select(*IDENTITY, "broker")
    mine = mine.join(missing.select(*IDENTITY), list(IDENTITY), "left_semi").distinct()
    return mine.groupBy(*IDENTITY).agg(F.sort_array(F.collect_list("broker")).alias("held_by"))
