"""One row per send, whatever the journal holds more than once."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.journals.topic_partition import partition_of
from checkers.sql import greatest_of
from harness.model.journal import SendOutcome

OUTCOMES = tuple(outcome.value for outcome in SendOutcome)
"""From the least to the greatest: of several rows of one send the greatest outcome counts."""


def once(sends: DataFrame) -> DataFrame:
    """One row per `producer` and `seq`, with the columns of `checkers.journals.views.Views.sends` and
    `send_rows` (bigint), the number of rows that the journal has of the send.

    Of several rows, the greatest value of each column counts, so that their order does not matter. The
    outcome is the greatest of `OUTCOMES`, or one that this version does not know if there is no other;
    the topic and the partition are those of the greatest `topic_partition`.
    """
    known = greatest_of(F.col("outcome"), OUTCOMES)
    special = {
        "outcome": F.coalesce(known, F.max("outcome")),
        # Topics are numbered in the order of their names, so the greatest number has the greatest name.
        "partition": partition_of(F.max("topic_partition")),
    }
    columns = [special.get(name, F.max(name)).alias(name) for name in sends.columns if name not in _IDENTITY]
    rows = sends.groupBy(*_IDENTITY).agg(*columns, F.count(F.lit(1)).alias("send_rows"))
    return rows.select(*sends.columns, "send_rows")


_IDENTITY = ("producer", "seq")
