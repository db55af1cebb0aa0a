"""Runs the rules of groups and share groups on an engine, once per group and partition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.classes.base import FindingRule
from checkers.classes.classify import findings_of
from checkers.evidence.sentences import say
from checkers.evidence.windows import open_windows
from checkers.found import Found
from checkers.groups.anomalies import ANOMALIES, BY_PARTITION, FAILED, Rules, attempt_rules
from checkers.journals.topic_partition import name_of, partition_of
from checkers.journals.views import Views
from checkers.sql import conform, ddl


def with_journal(journal: str, rows: DataFrame, *columns: str | Column) -> DataFrame:
    """These columns of a journal's rows, with the group, the partition and `journal`, its name."""
    return rows.select(*BY_PARTITION, F.lit(journal).alias("journal"), *columns)


def apply_rules(rules: Rules, journals: list[DataFrame]) -> DataFrame:
    """What rules find in the rows of these journals (`with_journal`), as `ANOMALIES`."""
    types = {name: kind for rows in journals for name, kind in rows.dtypes}
    # Not `unionByName(allowMissingColumns=True)`: Sail gives the columns that it adds no type.
    rows = reduce(DataFrame.unionByName, (conform(rows, types) for rows in journals))
    return rows.groupBy(*BY_PARTITION).applyInArrow(lambda table: attempt_rules(rules, table), ddl(ANOMALIES))


def kinds_and_problems(anomalies: DataFrame, what: str) -> tuple[set[tuple[str, str]], list[tuple[str, str]]]:
    """The (group, kind) of all anomalies, and the (group, problem) of rules that failed; `what` is the check
    that failed, for the sentences of problems."""
    rows = anomalies.select("group", "kind", "reason").distinct().collect()
    problems = {
        (row.group, f"the check of {what} failed ({row.reason}), so the verdict is unknown")
        for row in rows
        if row.kind == FAILED
    }
    return {(row.group, row.kind) for row in rows if row.kind != FAILED}, sorted(problems)


def anomaly_findings(anomalies: DataFrame, rules: Sequence[FindingRule], views: Views) -> Found:
    """Rows of `ANOMALIES` as findings of these classes. `windows` are the faults that were open between the
    times of a row."""
    number = F.col("topic_partition")
    at = F.coalesce(name_of(number, views.topics), say("?-", partition_of(number)))
    rows = anomalies.where(F.col("kind") != FAILED).withColumn("at", at)
    columns = {
        "partition": partition_of(number),
        "offsets": F.array("offset"),
        "reader": F.coalesce("reader", "group"),
        "windows": open_windows(views.meta.windows, F.col("at_ns"), F.col("until_ns"), F.lit(False)),
    }
    return findings_of(rules, rows, columns)
