"""The sends of a run: each once, whatever the journal holds more than once, and how its transaction ended."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.journals.topic_partition import partition_of
from checkers.journals.views import Views
from checkers.sql import greatest_of
from harness.model.journal import SendOutcome, TxnOutcome

OUTCOMES = tuple(outcome.value for outcome in SendOutcome)
TXN_OUTCOMES = tuple(outcome.value for outcome in TxnOutcome)
"""From the least to the greatest: of several rows of one send or transaction the greatest outcome counts."""

_SEND = ("producer", "seq")


def deduplicated(sends: DataFrame) -> DataFrame:
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
    columns = [special.get(name, F.max(name)).alias(name) for name in sends.columns if name not in _SEND]
    rows = sends.groupBy(*_SEND).agg(*columns, F.count("*").alias("send_rows"))
    return rows.select(*sends.columns, "send_rows")


def with_txn_outcome(views: Views, sends: DataFrame | None = None) -> DataFrame:
    """The sends (None: all of the run) with `txn_outcome` (string): how the transaction of each ended.

    It is null if the record was sent in none, if the journal has no row of the transaction, and if its
    outcome is one that this version does not know. Of several rows of a transaction the greatest of
    `TXN_OUTCOMES` counts, so that their order does not matter.
    """
    sends = views.sends if sends is None else sends
    if not views.files["txns"]:
        return sends.withColumn("txn_outcome", F.lit(None).cast("string"))
    greatest = greatest_of(F.col("outcome"), TXN_OUTCOMES).alias("txn_outcome")
    ends = views.transactions.groupBy("producer", "txn").agg(greatest)
    return sends.join(ends, ["producer", "txn"], "left").select(*sends.columns, "txn_outcome")
