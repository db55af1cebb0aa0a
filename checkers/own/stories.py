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
    rest = ("; and ", F.col("sends") - MOST_TOLD, " more sends")
    return _with_first(
        rows, "story", sent, _send(), ("sent_ns", "producer", "seq"), between="; sent again: ", rest=rest
    )


def with_locations(rows: DataFrame, log: DataFrame, topics: Sequence[str]) -> DataFrame:
    """`rows`, one per `id`, with `places` (string): the first places of the id in the log, such as "t-0@41".
    Null: there are none."""
    place = say(name_of(F.col("topic_partition"), topics), "@{offset}")
    rest = (" and ", F.col("copies") - MOST_TOLD, " more")
    return _with_first(rows, "places", log, place, ("topic_partition", "offset"), between=", ", rest=rest)


def _with_first(
    rows: DataFrame,
    name: str,
    of: DataFrame,
    text: Column,
    order: Sequence[str],
    *,
    between: str,
    rest: tuple[str, Column, str],
) -> DataFrame:
    """`rows`, one per `id`, with the column `name`: `text` of the first rows `of` each id in this order, and
    `rest`, the number of the others in words, if there are any."""
    few = (
        of.join(rows.select("id"), "id", "left_semi")
        .withColumn("number", F.row_number().over(Window.partitionBy("id").orderBy(*order)))
        .where(F.col("number") <= MOST_TOLD)
        .select("id", "number", text.alias("text"))
    )
    in_order = F.sort_array(F.collect_list(comparable("number", "text")))
    joined = F.array_join(F.transform(in_order, lambda row: row["text"]), between)
    told = few.groupBy("id").agg(joined.alias(name))
    more = F.when(rest[1] > 0, say(*rest)).otherwise("")
    return rows.join(told, "id", "left").withColumn(name, F.concat(name, more))


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
