#!/usr/bin/env bash
# Polars 2.1.0 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: the difference of two counts is a signed number; DuckDB, Spark and pandas have it so.
# What happens: len(), count(), n_unique(), the row index and lengths of strings are UInt32 in Polars, and UInt32 less UInt32, or less a Python
# number, stays UInt32 and wraps around without an error: 2 sent less 3 read is 4294967295. So a filter for missing > 0 also finds the
# partition with one record too many, with four thousand million missing records, and a filter for < 0 never finds anything. One of the two as
# Int64 is enough for the right answer. Polars' documentation of len() and count() names the type, not what a difference does.
# Whom it hurts: reconciliations of two systems by counts, where the sign says whether something was lost or doubled.
#
# Output seen:
# | {'partition': 0, 'sent': 3, 'read': 2, 'missing': 1}
# | {'partition': 1, 'sent': 2, 'read': 3, 'missing': 4294967295}
# | {'partition': 2, 'sent': 1, 'read': 1, 'missing': 0}
# | type of missing: UInt32
# | partitions with missing > 0: [0, 1]
# | partitions with missing < 0: []
# | len() - 9: 4294967293
# | count() - 9: 4294967293
# | n_unique() - 9: 4294967290
# | row index - 9: 4294967287
# | str.len_chars() - 9: 4294967290
# | seq.first() - 9: -9
# | missing of counts as Int64: [1, -1, 0]
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

{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check polars==2.1.0; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
import polars as pl

sent = pl.DataFrame({"partition": [0, 0, 0, 1, 1, 2], "seq": [0, 1, 2, 0, 1, 0]})
read = pl.DataFrame({"partition": [0, 0, 1, 1, 1, 2], "seq": [0, 1, 0, 1, 1, 0]})
counts = (
    sent.group_by("partition")
    .agg(pl.len().alias("sent"))
    .join(read.group_by("partition").agg(pl.len().alias("read")), on="partition")
    .sort("partition")
    .with_columns(missing=pl.col("sent") - pl.col("read"))
)
for row in counts.iter_rows(named=True):
    print(row)
print("type of missing:", counts.schema["missing"])
print("partitions with missing > 0:", counts.filter(pl.col("missing") > 0)["partition"].to_list())
print("partitions with missing < 0:", counts.filter(pl.col("missing") < 0)["partition"].to_list())
less = {
    "len()": pl.len(),
    "count()": pl.col("seq").count(),
    "n_unique()": pl.col("seq").n_unique(),
    "row index": pl.col("index").first(),
    "str.len_chars()": pl.lit("abc").str.len_chars(),
}
for name, one in less.items():
    print(f"{name} - 9:", sent.with_row_index().select(one - 9).item())
print("seq.first() - 9:", sent.select(pl.col("seq").first() - 9).item())
print("missing of counts as Int64:", counts.select(pl.col("sent").cast(pl.Int64) - pl.col("read")).to_series().to_list())
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
