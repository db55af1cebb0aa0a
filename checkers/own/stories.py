"""What is told of an id: its sends with their outcomes side by side, and where the log holds it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.evidence.sentences import say
from checkers.journals.topic_partition import name_of
from checkers.sql import comparable
from harness.model.journal import SendOutcome

MOST_TOLD = 5
"""Sends, and places, that a story tells."""
_NS = 1_000_000_000


def with_story(rows: DataFrame, sent: DataFrame) -> DataFrame:
    """`rows`, one per `id`, with `story` (string): the first sends of the id in the order in which they were
    sent, with what came of each. Null: it was never sent."""
    order = Window.partitionBy("id").orderBy("sent_ns", "producer", "seq")
    few = (
        sent.join(rows.select("id"), "id", "left_semi")
        .withColumn("number", F.row_number().over(order))
        .where(F.col("number") <= MOST_TOLD)
    )
    told = few.select("id", "number", _send().alias("text"))
    stories = told.groupBy("id").agg(_in_order("number", "; sent again: ").alias("story"))
    more = F.col("sends") - MOST_TOLD
    rest = F.when(more > 0, say("; and ", more, " more sends")).otherwise("")
    return rows.join(stories, "id", "left").withColumn("story", F.concat("story", rest))


def with_locations(rows: DataFrame, log: DataFrame, topics: Sequence[str]) -> DataFrame:
    """`rows`, one per `id`, with `places` (string): the first places of the id in the log, such as "t-0@41".
    Null: there are none."""
    order = Window.partitionBy("id").orderBy("topic_partition", "offset")
    few = (
        log.join(rows.select("id"), "id", "left_semi")
        .withColumn("number", F.row_number().over(order))
        .where(F.col("number") <= MOST_TOLD)
    )
    place = say(name_of(F.col("topic_partition"), topics), "@{offset}")
    told = few.select("id", "number", place.alias("text"))
    places = told.groupBy("id").agg(_in_order("number", ", ").alias("places"))
    more = F.col("copies") - MOST_TOLD
    rest = F.when(more > 0, say(" and ", more, " more")).otherwise("")
    return rows.join(places, "id", "left").withColumn("places", F.concat("places", rest))


def _in_order(number: str, between: str) -> Column:
    """The texts of a group in the order of their numbers."""
    rows = F.sort_array(F.collect_list(comparable(number, "text")))
    return F.array_join(F.transform(rows, lambda row: row["text"]), between)


def _send() -> Column:
    """What came of a send."""
    seconds = F.round((F.col("closed_ns") - F.col("sent_ns")) / _NS, 1).cast("string")
    after = F.when(seconds.isNotNull(), say(" after ", seconds, " s")).otherwise("")
    outcome = F.col("outcome")
    said = (
        F.when(outcome == SendOutcome.ACKED.value, say("acknowledged", after))
        .when(outcome == SendOutcome.UNCONFIRMED.value, "sent with acks=0")
        .when(outcome == SendOutcome.REJECTED.value, say("refused ({error:no reason})"))
        .otherwise(say("{error:no report}", after))
    )
    return say("producer {producer} seq {seq} ", said)
