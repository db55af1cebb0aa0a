"""Classes of the records in the replicas' own segment files.

Each takes rows of `checkers.replicas.find.HOLDINGS`, a broker and an offset, and returns, as a column,
which of them are of its class; those of one offset are one finding.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.classes.base import Facts, finding_class, rules_in


@finding_class("replicas of {at} differ at offset {offset}: {differing}", subject="replica")
def diverged(r: Facts) -> Column:
    """Two replicas hold different records (checksum, identity or leader epoch) at one offset below the high
    watermark, or one lacks an offset between its own first and last that the leader holds.

    The brokers of a finding are those that differ from the leader; if the leader holds nothing there, all
    that differ from each other.

    Source: followers copy the leader's log unchanged (Kafka documentation, Replication; KIP-101, KIP-279).
    Example: at offset 20 brokers 1 and 2 hold seq 8 of epoch 3, broker 3 holds seq 9 of epoch 2.
    """
    differs = F.when(r.leader_holds, ~r.as_leader).otherwise(~r.all_alike)
    lacks = r.leader_holds & ~r.held & r.within
    return (r.held & differs) | lacks


CLASSES = rules_in(globals())
