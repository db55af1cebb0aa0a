#!/usr/bin/env bash
# pyspark 4.2.1 (Java 17 or later), DuckDB 2.0.1 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: xxhash64(key, place) of rows (7, null) and (null, 7) differ, as those of any two different rows do, but for one chance in 2^64.
# What happens: Spark's hashes pass over nulls: the hash of what came before is handed on. So a value that has moved from one column to another, an
# added column of nulls and a null in an array or struct change nothing: seven different values below have one hash, and two tables that differ
# have equal checksums, by xxhash64 and by hash. A hash of nothing but nulls is the seed, 42. Spark's documentation of the functions does not say
# so. Sail 0.7.2 has the same hashes; DuckDB's hash() tells them apart. With `is null` of each column beside the columns the rows differ.
# Whom it hurts: change detection, deduplication and comparisons of copies by the hash of a row, where columns may be null.
#
# Output seen:
# | rows of old that new has not: 1
# | the XOR of xxhash64(key, place) over all rows of old and of new: equal
# | the XOR of hash(key, place) over all rows of old and of new: equal
# | hashes of 7, null; null, 7; 7; array(7, null); array(null, 7); struct(7, null); struct(null, 7): 1 different
# | xxhash64(null): 42
# | with `is null` of each column in the hash: different
# | DuckDB, hash(7, null) and hash(null, 7): different
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
{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check pyspark==4.2.1 duckdb==2.0.1; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
import os

import duckdb
from pyspark.sql import SparkSession

folder = os.path.dirname(os.path.abspath(__file__))
settings = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -XX:-UsePerfData",
    "spark.local.dir": folder,
    "spark.sql.warehouse.dir": f"{folder}/tables",
    "spark.sql.shuffle.partitions": "1",
}
build = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    build = build.config(name, value)
spark = build.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sql("select * from values (7, null), (7, 8) t(key, place)").createOrReplaceTempView("old")
spark.sql("select * from values (null, 7), (7, 8) t(key, place)").createOrReplaceTempView("new")


def ask(query):
    return spark.sql(query).first()[0]


print("rows of old that new has not:", ask("select count(*) from (select * from old except all select * from new)"))
for name in ("xxhash64", "hash"):
    same = ask(f"select (select bit_xor({name}(key, place)) from old) = (select bit_xor({name}(key, place)) from new)")
    print(f"the XOR of {name}(key, place) over all rows of old and of new:", "equal" if same else "different")
values = ("7, null", "null, 7", "7", "array(7, null)", "array(null, 7)", "struct(7, null)", "struct(null, 7)")
null = "cast(null as int)"
hashes = ", ".join(f"xxhash64({one.replace('null', null)})" for one in values)
print(f"hashes of {'; '.join(values)}:", ask(f"select size(array_distinct(array({hashes})))"), "different")
print("xxhash64(null):", ask(f"select xxhash64({null})"))
told = "key, place, key is null, place is null"
same = ask(f"select (select bit_xor(xxhash64({told})) from old) = (select bit_xor(xxhash64({told})) from new)")
print("with `is null` of each column in the hash:", "equal" if same else "different")
print("DuckDB, hash(7, null) and hash(null, 7):", "equal" if duckdb.sql("select hash(7, null) = hash(null, 7)").fetchall()[0][0] else "different")
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
