#!/usr/bin/env bash
# pyspark 4.2.1 (Java 17 or later), pyarrow 26.0.1, pandas 2.3.3, Polars 2.1.0, DuckDB 2.0.1 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: a timestamp that Spark writes to Parquet is read as the same time by all that read Parquet, or else with an error.
# What happens: Spark still writes timestamps as INT96 by default, the type that Parquet has given up, and pyarrow, pandas and Polars read
# INT96 as nanoseconds in 64 bits, which end in the year 2262. Later times are not refused. 9999-12-31, the usual "until further notice",
# is 1816 to pyarrow and pandas (it wraps around), and 2262-04-11 to Polars (it is cut off); Spark and DuckDB read it as it was. So a filter
# since < until finds no row. Nothing is logged. spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS in Spark, or
# coerce_int96_timestamp_unit="us" in pyarrow, is right.
# Whom it hurts: tables with a validity (from, until), tokens and contracts without an end, when Python reads what Spark has written.
#
# Output seen:
# | Spark writes since 2026-11-28 and until 9999-12-31, as by default: INT96
# |   Spark reads until 9999-12-31
# |   DuckDB 9999-12-31
# |   pyarrow 1816-03-29 - rows with since < until: 0
# |   pandas 1816-03-29
# |   Polars 2262-04-11
# | Spark writes since 2026-11-28 and until 9999-12-31, TIMESTAMP_MICROS: INT64
# |   Spark reads until 9999-12-31
# |   DuckDB 9999-12-31
# |   pyarrow 9999-12-31 - rows with since < until: 1
# |   pandas 9999-12-31
# |   Polars 9999-12-31
# | pyarrow, the first file, coerce_int96_timestamp_unit='us': 9999-12-31
set -euo pipefail
set -m # each command is a process group of its own, so that all that it has started can be ended
work=$(mktemp -d)
end() {
  trap "" HUP INT TERM # a second signal does not keep this from its end
  local job
  for job in $(jobs -p); do kill -KILL -- "-$job" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
run() { "$@" </dev/null & wait "$!"; } # in the background, so that a signal is heard at once

export TMPDIR="$work"
unset SPARK_HOME SPARK_CONF_DIR SPARK_REMOTE
{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check pyspark==4.2.1 pyarrow==26.0.1 pandas==2.3.3 polars==2.1.0 duckdb==2.0.1; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
import os

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

folder = os.path.dirname(os.path.abspath(__file__))
settings = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -XX:-UsePerfData",
    "spark.local.dir": folder,
    "spark.sql.warehouse.dir": f"{folder}/tables",
    "spark.sql.session.timeZone": "UTC",
}
build = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    build = build.config(name, value)
spark = build.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
query = "select timestamp'2026-11-28 12:00:00' as since, timestamp'9999-12-31 12:00:00' as until"
for kind in ("as by default", "TIMESTAMP_MICROS"):
    if kind != "as by default":
        spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
    place = f"{folder}/{kind.split()[-1]}"
    spark.sql(query).coalesce(1).write.parquet(place)
    (file,) = (entry.path for entry in os.scandir(place) if entry.name.endswith(".parquet"))
    table = pq.read_table(file)
    print(f"Spark writes since 2026-11-28 and until 9999-12-31, {kind}: {pq.ParquetFile(file).metadata.schema.column(1).physical_type}")
    print("  Spark reads until", spark.read.parquet(place).first().until.date())
    print("  DuckDB", duckdb.sql(f"select strftime(until::timestamp, '%Y-%m-%d') from read_parquet('{file}')").fetchall()[0][0])
    print("  pyarrow", str(table["until"][0].as_py())[:10], "- rows with since < until:", table.filter(pc.field("since") < pc.field("until")).num_rows)
    print("  pandas", str(table.to_pandas()["until"][0])[:10])
    print("  Polars", str(pl.read_parquet(file)["until"][0])[:10])
print("pyarrow, the first file, coerce_int96_timestamp_unit='us':", end=" ")
(file,) = (entry.path for entry in os.scandir(f"{folder}/default") if entry.name.endswith(".parquet"))
print(str(pq.read_table(file, coerce_int96_timestamp_unit="us")["until"][0].as_py())[:10])
PY
run "$work/venv/bin/python" "$work/look.py" 2>"$work/told" >"$work/seen" || {
  echo "look.py did not come to its end" >&2
  tail -n 20 "$work/told" >&2
  exit 3
}
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
