"""What PySpark lacks, and structs that every engine orders alike, against plain Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from checkers.sql import case, comparable, union

pytestmark = pytest.mark.spark

PAIRS = list(product((None, "", "b"), (None, -(2**63), 0)))
"""Texts and numbers with null, and the least of each, which null must not be taken for."""


def in_python(pair: tuple[str | None, int | None]) -> tuple[Any, ...]:
    return tuple((value is not None, value) if value is not None else (False,) for value in pair)


def orders(spark: SparkSession) -> dict[str, object]:
    """The least and the greatest of all pairs but one or two, and the order of all, by an engine."""
    rows = [
        (number, *PAIRS[one]) for number in range(len(PAIRS)) for one in range(len(PAIRS)) if one >= number
    ]
    # Rows in another order than that of their values.
    frame = spark.createDataFrame(rows[::-1], "part int, text string, number bigint")
    both = comparable("text", ("number", F.col("number")))

    def pair(struct: Column) -> Column:
        return F.concat_ws("|", F.coalesce(struct["text"], F.lit("null")), struct["number"].cast("string"))

    listed = F.transform(F.sort_array(F.collect_list(both)), pair)
    found = frame.groupBy("part").agg(
        pair(F.min(both)).alias("least"),
        pair(F.max(both)).alias("greatest"),
        F.min_by(F.concat_ws("|", F.coalesce("text", F.lit("null")), "number"), both).alias("by"),
        listed.alias("all"),
    )
    return {row["part"]: row.asDict() for row in found.collect()}


def expected() -> dict[str, object]:
    def shown(pair: tuple[str | None, int | None]) -> str:
        text, number = pair
        return "|".join(["null" if text is None else text, *([] if number is None else [str(number)])])

    found = {}
    for part in range(len(PAIRS)):
        ordered = [shown(one) for one in sorted(PAIRS[part:], key=in_python)]
        found[part] = {
            "part": part,
            "least": ordered[0],
            "greatest": ordered[-1],
            "by": ordered[0],
            "all": ordered,
        }
    return found  # type: ignore[return-value]


def test_comparable_structs_have_one_order(spark: SparkSession) -> None:
    assert orders(spark) == expected()


@pytest.mark.soak
def test_comparable_structs_have_the_same_order_on_apache_spark(apache_spark: SparkSession) -> None:
    assert orders(apache_spark) == expected()


def test_case_and_union_of_many_are_flat(spark: SparkSession) -> None:
    number = F.col("id")
    frame = spark.range(600)
    doubled = case([(number == one, F.lit(2 * one)) for one in range(500)])
    assert frame.select(F.sum(doubled)).collect()[0][0] == sum(range(500)) * 2
    assert frame.where(case([]).isNull()).count() == 600
    parts = [frame.where(number == one) for one in range(300)]
    assert sorted(row[0] for row in union(parts).collect()) == list(range(300))
