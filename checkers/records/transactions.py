"""How the transaction of each send ended."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.sql import greatest_of
from harness.model.journal import TxnOutcome

TXN_OUTCOMES = tuple(outcome.value for outcome in TxnOutcome)
"""From the least to the greatest: of several rows of one transaction the greatest outcome counts."""


def with_outcome(sends: DataFrame, transactions: DataFrame) -> DataFrame:
    """The sends with `txn_outcome` (string): how the transaction of each ended.

    It is null if the record was sent in none, if the journal has no row of the transaction, and if its
    outcome is one that this version does not know. Of several rows of a transaction the greatest of
    `TXN_OUTCOMES` counts, so that their order does not matter.

    Args:
        sends: rows with `producer` (int) and `txn` (bigint).
        transactions: rows of the journal `harness.model.journal.TRANSACTIONS`.
    """
    ends = transactions.groupBy("producer", "txn").agg(
        greatest_of(F.col("outcome"), TXN_OUTCOMES).alias("txn_outcome")
    )
    return sends.join(ends, ["producer", "txn"], "left").select(*sends.columns, "txn_outcome")


def without_outcome(sends: DataFrame) -> DataFrame:
    """The sends with `txn_outcome`, of a run that has no journal of transactions."""
    return sends.withColumn("txn_outcome", F.lit(None).cast("string"))
