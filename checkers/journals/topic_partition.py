"""A topic and a partition as one number, so that joins and aggregations compare numbers, not strings.

`topic_partition` is the number of the topic among the run's topics, times 2^32, plus the partition. A
partition may be -1 (the client did not say); a topic that the run does not know has no number (null).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.sql import case
from harness.model.partition_words import UNNAMED_PARTITION

_TOPIC = 2**32
_HALF = 2**31


def number_of(topics: Sequence[str], topic: str, partition: int) -> int:
    """The number of a partition of one of the run's topics."""
    return topics.index(topic) * _TOPIC + partition


def numbered(topic: Column, partition: Column) -> Column:
    """The number (bigint) of a partition of the topic with this number."""
    return topic.cast("bigint") * _TOPIC + partition.cast("bigint")


def topic_partition(topics: Sequence[str]) -> Column:
    """`topic_partition` (bigint) of rows with the columns `topic` and `partition`."""
    partition = F.col("partition").cast("bigint")
    cases = [(F.col("topic") == topic, F.lit(number * _TOPIC)) for number, topic in enumerate(topics)]
    return (case(cases) + partition).alias("topic_partition")


def partition_of(number: Column) -> Column:
    """The partition (int) of a `topic_partition`."""
    return ((number + _HALF).bitwiseAND(_TOPIC - 1) - _HALF).cast("int")


def has_no_partition(number: Column) -> Column:
    """Whether the client did not say which partition it was (-1)."""
    return F.shiftright(number, 31).bitwiseAND(1) == 1


def name_of(number: Column, topics: Sequence[str]) -> Column:
    """`topic-partition` (string) of a `topic_partition`, or that the client named none; null where null."""
    name = F.concat(topic_of(number, topics), F.lit("-"), partition_of(number).cast("string"))
    return F.when(has_no_partition(number), F.lit(UNNAMED_PARTITION)).otherwise(name)


def topic_of(number: Column, topics: Sequence[str]) -> Column:
    """The topic (string) of a `topic_partition`; null where that is null."""
    index = F.shiftright(number + _HALF, 32)
    return case([(index == number, F.lit(topic)) for number, topic in enumerate(topics)])
