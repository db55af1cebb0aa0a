"""Findings about deliveries to readers, and about replicas that differ."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.checks import checks_of, detail_of
from checkers.checks.run import run_checks
from checkers.facts.columns import READABLE
from checkers.facts.deliveries import DELIVERIES, SHARE_ROWS, DeliveryTask, Unit
from checkers.facts.encoding import decode, name_of, partition_of, spot, spot_number
from checkers.facts.measure import RunFacts
from checkers.facts.offsets import index_to_bytes
from checkers.findings.evidence import as_findings
from checkers.findings.record_context import broadcast_if_small
from checkers.journals.load import RunFrames, local_frame, read_parquet, schema_of
from harness.model.result import FindingClass
from harness.model.storage import StoragePath, write_parquet

_DELIVERIES_READ = schema_of(
    "kind int, unit int, reader int, session int, spot bigint, offset bigint, count bigint, before bigint, "
    "run bigint, producer int, seq bigint"
)


def units_of(frames: RunFrames) -> tuple[Unit, ...]:
    """Consumer groups with their readers, and readers without a group, by name."""
    members: dict[tuple[str, bool], list[int]] = {}
    for number, reader in enumerate(frames.readers):
        members.setdefault((reader.group or reader.name, reader.group is not None), []).append(number)
    return tuple(
        Unit(
            name=name,
            group=is_group,
            committed=any(frames.readers[number].committed for number in numbers),
            readers=tuple(
                (number, frames.readers[number].name, tuple(file.path for file in frames.files.live[number]))
                for number in numbers
            ),
            rows=sum(file.rows for number in numbers for file in frames.files.live[number]),
        )
        for (name, is_group), numbers in sorted(members.items())
    )


def deliveries(
    frames: RunFrames, facts: RunFacts, scratch: StoragePath
) -> tuple[DataFrame, list[str]] | None:
    """Findings about deliveries to live readers, as `evidence.FINDINGS`, and what failed; None: there are
    none."""
    units = units_of(frames)
    if not units:
        return None
    spark = frames.sends.sparkSession
    folder = scratch / "deliveries"
    folder.mkdir()
    (scratch / "index-committed").write_bytes(index_to_bytes(facts.held_committed))
    write_parquet(DELIVERIES.empty_table(), folder / "part-none.parquet")
    shares = tuple(
        (number, part, parts)
        for number, unit in enumerate(units)
        for parts in [max(1, -(-unit.rows // SHARE_ROWS))]
        for part in range(parts)
    )
    task = DeliveryTask(
        units=units,
        shares=shares,
        topics={name: number for number, name in enumerate(facts.codes.topics)},
        commits=tuple(file.path for file in frames.files.commits),
        index=str(scratch / "index"),
        index_committed=str(scratch / "index-committed"),
        target=str(folder),
    )
    if sum(unit.rows for unit in units) <= SHARE_ROWS // 16:
        found = sum(task.write_share(index) for index in range(len(shares)))
    else:
        numbers = spark.range(0, len(shares), 1, len(shares))
        found = sum(int(bytes(row.answer)) for row in numbers.mapInArrow(task, "answer binary").collect())
    if not found:
        return None
    rows, problems = run_checks(read_parquet(spark, _DELIVERIES_READ, folder), "delivery")
    names, groups = [reader.name for reader in frames.readers], [unit.name for unit in units]
    rows = (
        _with_skipped_identity(rows.where(F.col("finding").isNotNull()), frames, facts, found)
        .withColumn("partition", F.expr(partition_of("spot")))
        .withColumn("at", F.expr(name_of("spot", facts.codes)))
        .withColumn("who", F.expr(f"coalesce({decode('reader', names)}, {decode('unit', groups)})"))
    )
    findings = as_findings(
        rows,
        {
            "finding": "finding",
            "producer": "producer",
            "seq": "seq",
            "partition": "partition",
            "offsets": "array(offset)",
            "reader": "who",
            "count": "count",
            "detail": detail_of("delivery"),
        },
    )
    return findings, problems


def _with_skipped_identity(rows: DataFrame, frames: RunFrames, facts: RunFacts, count: int) -> DataFrame:
    """Rows of skipped offsets with the identity of the first skipped record, from the final read."""
    skipped = F.col("finding") == FindingClass.SKIPPED.value
    places = rows.where(skipped).select("spot", "offset").distinct()
    records = (
        frames.reads.where(F.col("state").isin(*READABLE))
        .select(
            F.expr(spot("topic", "partition", facts.codes)).alias("spot"),
            "offset",
            F.struct("producer", "seq").alias("record"),
        )
        .join(broadcast_if_small(places, count), ["spot", "offset"])
        .groupBy("spot", "offset")
        .agg(F.min("record").alias("record"))
    )
    rows = rows.join(broadcast_if_small(records, count), ["spot", "offset"], "left")
    return rows.withColumns(
        {name: F.when(skipped, F.col("record")[name]).otherwise(F.col(name)) for name in ("producer", "seq")}
    )


def replicas(frames: RunFrames, facts: RunFacts) -> DataFrame | None:
    """Findings about replicas that differ, as `evidence.FINDINGS`; None: no replica's files were read."""
    final = frames.meta.final_read
    if frames.replicas is None or final is None:
        return None
    spark = frames.sends.sparkSession
    bounds = [
        (spot_number(bound.topic, bound.partition, facts.codes), bound.leader, bound.end_offset)
        for bound in final.bounds
    ]
    limits = local_frame(spark, bounds, schema_of("spot bigint, leader int, end_offset bigint"))
    nothing = F.lit(-1).cast("bigint")
    content = F.xxhash64(
        "control",
        "state",
        "leader_epoch",
        *(F.coalesce(F.col(name).cast("bigint"), nothing) for name in ("run", "producer", "seq", "crc")),
    )
    rows = (
        frames.replicas.withColumn("spot", F.expr(spot("topic", "partition", facts.codes)))
        .join(F.broadcast(limits), "spot")
        .where(F.col("offset") < F.col("end_offset"))
        .select("spot", "offset", "broker", "leader", "end_offset", content.alias("content"))
    )
    (check,) = checks_of("replica")
    found = check.rule(rows).withColumns(
        {
            "partition": F.expr(partition_of("spot")),
            "at": F.expr(name_of("spot", facts.codes)),
        }
    )
    return as_findings(
        found,
        {
            "finding": f"'{check.finding.value}'",
            "partition": "partition",
            "offsets": "array(offset)",
            "held_by": "brokers",
            "detail": check.detail,
        },
    )
