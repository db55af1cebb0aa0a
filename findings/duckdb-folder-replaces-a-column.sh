#!/usr/bin/env bash
# DuckDB 2.0.1, Polars 2.1.0, pyarrow 26.0.1 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: a single Parquet file that is named by its path has the columns and values that are in it, wherever it lies.
# What happens: DuckDB looks at the path of a single file, too (hive_partitioning is automatic), and a folder acks=1 in it takes the place of the
# file's own column `acks`: each row has 1, as a number, and the texts of the file cannot be seen. No error, no warning. The same file by a
# relative path, from within its folder, has its own values, so the answer depends on the directory one stands in. hive_partitioning=false is
# right. Polars and pyarrow read the file's values here.
# Whom it hurts: results that are kept in folders by parameter, such as run=3 or acks=1, whose files have a column of that name with more
# than one value, or another one after a copy.
#
# Output seen:
# | acks in the file results/acks=1/sends.parquet: ['all', 'all', '0']
# | DuckDB, that one file by its path: [1, 1, 1]
# | DuckDB, 'sends.parquet' in its folder: ['all', 'all', '0']
# | DuckDB, by its path, hive_partitioning = false: ['all', 'all', '0']
# | Polars, read_parquet: ['all', 'all', '0']
# | pyarrow, read_table: ['all', 'all', '0']
set -euo pipefail
set -m # each command is a process group of its own, so that all that it has started can be ended
work=$(mktemp -d)
export TMPDIR=$work # for what pip and others put aside
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

{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
import os

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

folder = os.path.dirname(os.path.abspath(__file__))
place = f"{folder}/results/acks=1"
os.makedirs(place)
file = f"{place}/sends.parquet"
pq.write_table(pa.table({"seq": [0, 1, 2], "acks": ["all", "all", "0"]}), file)


def acks(*what):
    rows = duckdb.sql(f"select acks from read_parquet({', '.join(what)}) order by seq").fetchall()
    return [row[0] for row in rows]


print("acks in the file results/acks=1/sends.parquet:", pq.ParquetFile(file).read()["acks"].to_pylist())
print("DuckDB, that one file by its path:", acks(f"'{file}'"))
os.chdir(place)
print("DuckDB, 'sends.parquet' in its folder:", acks("'sends.parquet'"))
print("DuckDB, by its path, hive_partitioning = false:", acks(f"'{file}'", "hive_partitioning = false"))
print("Polars, read_parquet:", pl.read_parquet(file)["acks"].to_list())
print("pyarrow, read_table:", pq.read_table(file)["acks"].to_pylist())
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
