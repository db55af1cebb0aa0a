"""The same classification by other tools, in one process: counts of classes, no evidence, nothing written.

Identity is (run, producer, seq), the classes and their order are `checkers`' own; a record of one topic is
misplaced when its partition is another. Each function reads the journals of a run folder and returns counts.
"""

from __future__ import annotations

from pathlib import Path

from harness.model.journal import READS_DIR, SENDS_DIR

CLASSES = (
    "phantom",
    "misplaced",
    "corrupt",
    "rejected_present",
    "duplicate",
    "lost",
    "unconfirmed_absent",
    "recovered",
)
"""The classes that these tools count, in the order in which a record gets its class."""

_SQL = """
WITH found AS (
  SELECT run, producer, seq, min(partition) AS low, max(partition) AS high, min("offset") AS first,
         max("offset") AS last, min(key) AS low_key, max(key) AS high_key
  FROM read_parquet('{reads}') WHERE state IN ('ok', 'foreign') GROUP BY ALL
), sent AS (
  SELECT CAST({run} AS BIGINT) AS run, producer, seq, partition, key, outcome FROM read_parquet('{sends}')
), classed AS (
  SELECT CASE
    WHEN sent.seq IS NULL THEN 'phantom'
    WHEN found.seq IS NOT NULL THEN CASE
      WHEN low <> partition OR high <> partition THEN 'misplaced'
      WHEN low_key IS DISTINCT FROM key OR high_key IS DISTINCT FROM key THEN 'corrupt'
      WHEN outcome = 'rejected' THEN 'rejected_present'
      WHEN first <> last THEN 'duplicate'
      WHEN outcome <> 'acked' THEN 'recovered' END
    WHEN outcome = 'acked' THEN 'lost'
    WHEN outcome = 'unconfirmed' THEN 'unconfirmed_absent' END AS class
  FROM sent FULL JOIN found USING (run, producer, seq)
)
SELECT class, count(*) FROM classed WHERE class IS NOT NULL GROUP BY class
"""


def duckdb(folder: Path, run: int, threads: int) -> dict[str, int]:
    """One SQL statement."""
    import duckdb

    places = {
        name: f"{folder / part}/part-*.parquet" for name, part in (("sends", SENDS_DIR), ("reads", READS_DIR))
    }
    with duckdb.connect(config={"threads": threads, "temp_directory": str(folder / "spill")}) as connection:
        rows = connection.execute(_SQL.format(run=run, **places)).fetchall()
    return {str(name): int(count) for name, count in rows}


def polars(folder: Path, run: int, threads: int) -> dict[str, int]:  # noqa: ARG001 - POLARS_MAX_THREADS
    """One lazy query on the streaming engine. Threads are set by the environment, before the import."""
    import polars as pl

    identity = ["run", "producer", "seq"]
    found = (
        pl.scan_parquet(folder / READS_DIR / "part-*.parquet")
        .filter(pl.col("state").is_in(["ok", "foreign"]))
        .group_by(identity)
        .agg(
            low=pl.col("partition").min(),
            high=pl.col("partition").max(),
            first=pl.col("offset").min(),
            last=pl.col("offset").max(),
            low_key=pl.col("key").min(),
            high_key=pl.col("key").max(),
        )
    )
    sent = pl.scan_parquet(folder / SENDS_DIR / "part-*.parquet").select(
        pl.lit(run).cast(pl.Int64).alias("run"), "producer", "seq", "partition", "key", "outcome"
    )
    present, outcome = pl.col("low").is_not_null(), pl.col("outcome")
    elsewhere = (pl.col("low") != pl.col("partition")) | (pl.col("high") != pl.col("partition"))
    other_key = pl.col("low_key").ne_missing(pl.col("key")) | pl.col("high_key").ne_missing(pl.col("key"))
    one_class = (
        pl.when(outcome.is_null())
        .then(pl.lit("phantom"))
        .when(present & elsewhere)
        .then(pl.lit("misplaced"))
        .when(present & other_key)
        .then(pl.lit("corrupt"))
        .when(present & (outcome == "rejected"))
        .then(pl.lit("rejected_present"))
        .when(present & (pl.col("first") != pl.col("last")))
        .then(pl.lit("duplicate"))
        .when(present & (outcome != "acked"))
        .then(pl.lit("recovered"))
        .when(~present & (outcome == "acked"))
        .then(pl.lit("lost"))
        .when(~present & (outcome == "unconfirmed"))
        .then(pl.lit("unconfirmed_absent"))
    )
    rows = (
        sent.join(found, on=identity, how="full", coalesce=True)
        .select(one_class.alias("class"))
        .filter(pl.col("class").is_not_null())
        .group_by("class")
        .len()
        .collect(engine="streaming")
    )
    return {str(name): int(count) for name, count in rows.iter_rows()}


def pandas(folder: Path, run: int, threads: int) -> dict[str, int]:  # noqa: ARG001 - it has but one
    """groupBy and an outer merge, as one would write it by hand; all of both journals is held in memory."""
    import numpy as np
    import pandas as pd

    identity = ["run", "producer", "seq"]
    reads = pd.read_parquet(folder / READS_DIR, columns=[*identity, "partition", "offset", "key", "state"])
    reads = reads[reads["state"].isin(["ok", "foreign"])].drop(columns="state")
    found = reads.groupby(identity, sort=False, as_index=False).agg(
        low=("partition", "min"),
        high=("partition", "max"),
        first=("offset", "min"),
        last=("offset", "max"),
        low_key=("key", "min"),
        high_key=("key", "max"),
    )
    del reads
    columns = ["producer", "seq", "partition", "key", "outcome"]
    sent = pd.read_parquet(folder / SENDS_DIR, columns=columns).assign(run=np.int64(run))
    both = sent.merge(found, how="outer", on=identity, indicator="side")
    present, outcome = both["side"] == "both", both["outcome"]
    other_key = ~(
        ((both["low_key"] == both["key"]) & (both["high_key"] == both["key"]))
        | (both["low_key"].isna() & both["high_key"].isna() & both["key"].isna())
    )
    conditions = {
        "phantom": both["side"] == "right_only",
        "misplaced": present & ((both["low"] != both["partition"]) | (both["high"] != both["partition"])),
        "corrupt": present & other_key,
        "rejected_present": present & (outcome == "rejected"),
        "duplicate": present & (both["first"] != both["last"]),
        "lost": ~present & (outcome == "acked"),
        "unconfirmed_absent": ~present & (outcome == "unconfirmed"),
        "recovered": present & (outcome != "acked"),
    }
    # The first condition that holds is the class.
    chosen = np.select([one.to_numpy(bool) for one in conditions.values()], list(range(len(conditions))), -1)
    counts = np.bincount(chosen[chosen >= 0], minlength=len(conditions))
    return {name: int(count) for name, count in zip(conditions, counts, strict=True) if count}


PEERS = {"duckdb": duckdb, "polars": polars, "pandas": pandas}
