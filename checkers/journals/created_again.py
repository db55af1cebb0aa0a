"""Which topic of one name a record was given from, where a step deleted the topic and created it again.

Offsets of a topic that was created again begin anew, so offsets of two topics of one name are never compared.
A client cannot tell which of them it was given a record from. What the final read holds at the same
place is of the last one; of another record the time of its send tells it, and where that is not known, the
time at which it was given. Each earlier topic has a number of its own among the run's topics
(`checkers.journals.topic_partition`), with the same name.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.journals.topic_partition import numbered
from checkers.journals.views import IDENTITY, Views, readable

_PLACE = ("topic_partition", "offset")


def live_of_topics(views: Views) -> DataFrame:
    """What the live readers got (`Views.live`), with the `topic_partition` of the topic that it is of."""
    return of_topics(views, views.live, "read_ns")


def of_topics(views: Views, given: DataFrame, time: str) -> DataFrame:
    """Rows of records that clients were given, at this time (a column, ns), with the `topic_partition` of the
    topic that each is of; they have the columns of a read up to `state`, and the identity."""
    times = views.recreated_ns
    if not times:
        return given
    ours = F.col("topic") == views.meta.topic
    held = views.reads.where(readable()).select(*IDENTITY, *_PLACE).distinct()
    sent = views.sends.groupBy(*IDENTITY).agg(F.max("sent_ns").alias("known_ns"))
    rows = given.join(held.withColumn("held", F.lit(True)), [*IDENTITY, *_PLACE], "left")
    rows = rows.join(sent, list(IDENTITY), "left")
    then = F.least(F.when(readable(), F.col("known_ns")), F.col(time))
    created = F.size(F.filter(F.array(*map(F.lit, times)), lambda at: at < then))
    old = ours & ~F.coalesce(readable() & F.col("held"), F.lit(False)) & (created < len(times))
    number = numbered(F.lit(_first_earlier(views)) + created, F.col("partition"))
    of_topic = F.when(old, number).otherwise(F.col("topic_partition"))
    return rows.withColumn("topic_partition", of_topic).select(*given.columns)


def is_of_last(views: Views) -> Column:
    """Whether a `topic_partition` is of the last topic of the run's name."""
    number = views.topics.index(views.meta.topic)
    low, high = (numbered(F.lit(index), F.lit(0)) for index in (number, number + 1))
    return (F.col("topic_partition") >= low) & (F.col("topic_partition") < high)


def is_of_earlier(views: Views) -> Column:
    """Whether a `topic_partition` is of a topic of the run's name that was deleted."""
    return F.col("topic_partition") >= numbered(F.lit(_first_earlier(views)), F.lit(0))


def since_created(views: Views, rows: DataFrame, time: str) -> DataFrame:
    """The rows but those about the run's topic from before it was created again, by this column (ns)."""
    if not views.recreated_ns:
        return rows
    return rows.where((F.col("topic") != views.meta.topic) | (F.col(time) > views.recreated_ns[-1]))


def _first_earlier(views: Views) -> int:
    return len(views.topics) - len(views.recreated_ns)
