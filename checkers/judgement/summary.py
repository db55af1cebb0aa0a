"""Counts and examples of a run, from its findings; their size does not depend on the number of records."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from checkers.facts.measure import RunFacts
from checkers.judgement.blame import NOT_COMMITTED, blame
from harness.model.result import CountRow, Example, FindingClass, Summary
from harness.model.run import RunMeta

MOST_CELLS = 10_000
"""Most rows of counts that are kept, the largest first; the totals by class are always complete."""
EXAMPLES_PER_CLASS = 5

_CELL = ("finding", "producer", "partition", "step", "windows")
_SHOWN = (
    "finding",
    "producer",
    "seq",
    "partition",
    "offsets",
    "acked_offset",
    "outcome",
    "sent_ns",
    "closed_ns",
    "error",
    "windows",
    "held_by",
    "detail",
    "reader",
    "count",
    "txn",
)


def summarise(
    findings: DataFrame | None,
    meta: RunMeta,
    facts: RunFacts,
    *,
    unavailable_seconds: float,
    problems: tuple[str, ...],
) -> Summary:
    """Summary of a run; `check_seconds` is left 0.0 for the caller to fill in.

    Args:
        findings: columns of `checkers.findings.evidence.FINDINGS`; read four times, so best from a file.
            None: there are none.
        facts: of the same run.
    """
    groups = [] if findings is None else _groups(findings)
    by_class: Counter[FindingClass] = Counter()
    lost_by_step: Counter[str] = Counter()
    lost_places: Counter[str] = Counter()
    leaders = _leaders(meta)
    held_by_leader = extra_copies = not_committed = 0
    for group in groups:
        finding = FindingClass(group.finding)
        by_class[finding] += group.rows
        if finding is FindingClass.DUPLICATE:
            extra_copies += group.extra
        if finding is FindingClass.LOST:
            lost_by_step[_step_name(meta, group.step)] += group.rows
            lost_places[group.place] += group.rows
            if group.place == NOT_COMMITTED:
                not_committed += group.rows
            elif leaders.get(group.partition) in (group.held_by or ()):
                held_by_leader += group.rows
    inspected = meta.final_read is not None and bool(meta.final_read.replicas_inspected)
    acked_by_step = {step.name: 0 for step in meta.steps if step.kind == "write"}
    for step, count in sorted(facts.acked_by_step.items()):
        acked_by_step[_step_name(meta, step)] = count
    return Summary(
        sent=sum(facts.outcomes.values()),
        outcomes=dict(sorted(facts.outcomes.items())),
        reads=facts.reads,
        findings={finding: by_class[finding] for finding in FindingClass if by_class[finding]},
        acked_by_step=acked_by_step,
        lost_by_step=dict(sorted(lost_by_step.items())),
        lost_places=dict(sorted(lost_places.items())),
        lost_held_by_leader=held_by_leader,
        lost_unexamined=0 if inspected else by_class[FindingClass.LOST] - not_committed,
        extra_copies=extra_copies,
        counts=() if findings is None else _count_rows(findings),
        examples=() if findings is None else _examples(findings),
        unavailable_seconds=unavailable_seconds,
        check_seconds=0.0,
        problems=problems,
        blame=() if findings is None else blame(findings, meta),
    )


def _groups(findings: DataFrame) -> list[Row]:
    return (
        findings.groupBy("finding", "place", "step", "partition", "held_by")
        .agg(F.count(F.lit(1)).alias("rows"), F.sum(F.col("copies") - 1).alias("extra"))
        .collect()
    )


def _leaders(meta: RunMeta) -> dict[int, int]:
    bounds = meta.final_read.bounds if meta.final_read is not None else ()
    return {bound.partition: bound.leader for bound in bounds if bound.topic == meta.topic}


def _step_name(meta: RunMeta, index: int) -> str:
    return next((step.name for step in meta.steps if step.index == index), f"step {index}")


def _count_rows(findings: DataFrame) -> tuple[CountRow, ...]:
    rows = (
        findings.groupBy(*_CELL)
        .agg(F.count(F.lit(1)).alias("count"))
        .orderBy(F.desc("count"), *_CELL)
        .limit(MOST_CELLS)
        .collect()
    )
    return tuple(CountRow.model_validate(row.asDict()) for row in rows)


def _examples(findings: DataFrame) -> tuple[Example, ...]:
    """The first few of each class: most copies first, then the earliest sent; ties in a fixed order."""
    worst = (
        F.desc("copies"),
        F.desc("count"),
        F.asc_nulls_last("sent_ns"),
        "producer",
        "seq",
        "partition",
        "offsets",
        "detail",
    )
    rank = F.row_number().over(Window.partitionBy("finding").orderBy(*worst))
    rows = (
        findings.withColumn("rank", rank)
        .where(F.col("rank") <= EXAMPLES_PER_CLASS)
        .select("rank", *_SHOWN)
        .collect()
    )
    order = list(FindingClass)
    rows.sort(key=lambda row: (order.index(FindingClass(row.finding)), row.rank))
    return tuple(_example(row) for row in rows)


def _example(row: Row) -> Example:
    fields = {name: row[name] for name in _SHOWN}
    return Example.model_validate(fields | {"held_by": fields["held_by"] or ()})
