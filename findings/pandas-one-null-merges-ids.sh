#!/usr/bin/env bash
# pandas 3.1.1, pyarrow 26.0.1 (PyPI), Python 3.11, 28 November 2026; pandas 2.3.3 does the same, and worse without a null (below)
#
# One would guess: a null among 64-bit integers costs at most the column's type; the other values stay, or an error says that they do not fit.
# What happens: the column becomes float64, and every number above 2^53 in it is rounded: times in nanoseconds to 256 ns, ids and
# hashes to their neighbours. Two ids are then one, and merge() joins rows of other ids, for it compares int64 with float64 as floats and warns
# only of fractions. It is so for to_pandas() of Arrow (with it for toPandas() of Spark), read_csv and read_json, there also for ids in quotation
# marks, which Protobuf's JSON has for 64-bit integers so that nobody takes them for floats; and astype("Int64") comes too late. pandas 2.3.3
# rounds quoted ids in read_json without any null. to_pandas(types_mapper=pandas.ArrowDtype) keeps them all.
# Whom it hurts: whoever joins sends with what was read by time or id in pandas; a full join by itself makes the nulls.
#
# Output seen:
# | from Arrow, without a null: ['1764352800000000001', '1764352800000000002']
# | from Arrow, with a null: ['1764352800000000000', '1764352800000000000', None]
# | sent, and not among those read (isin): ['1764352800000000001', '1764352800000000002']
# | both sent, one read and one null: merge finds 2
# | the same with Arrow's types: merge finds 1
# | read_json, ids in quotation marks: ['1764352800000000001', '1764352800000000002']
# | read_json, the same and one null: ['1764352800000000000', '1764352800000000000', None]
# | read_csv, the same and one empty: ['1764352800000000000', '1764352800000000000', None]
# | Series([ids, None]).astype('Int64'): ['1764352800000000000', '1764352800000000000', None]
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

{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check pandas==3.1.1 pyarrow==26.0.1; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
import io

import pandas as pd
import pyarrow as pa

ONE, OTHER = 1764352800000000001, 1764352800000000002  # two times in ns, or two ids


def frame(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())}).to_pandas()


def texts(values):
    return [str(int(value)) if pd.notna(value) else None for value in values]


print("from Arrow, without a null:", texts(frame(ONE, OTHER)["id"]))
print("from Arrow, with a null:", texts(frame(ONE, OTHER, None)["id"]))
sent = frame(ONE, OTHER)
read = frame(ONE, None)
print("sent, and not among those read (isin):", texts(sent[~sent["id"].isin(read["id"])]["id"]))
print("both sent, one read and one null: merge finds", len(sent.merge(read, on="id")))
print("the same with Arrow's types: merge finds", len(sent.merge(pa.table({"id": [ONE, None]}).to_pandas(types_mapper=pd.ArrowDtype), on="id")))
lines = f'{{"id": "{ONE}"}}\n{{"id": "{OTHER}"}}\n'
print("read_json, ids in quotation marks:", texts(pd.read_json(io.StringIO(lines), lines=True)["id"]))
print("read_json, the same and one null:", texts(pd.read_json(io.StringIO(lines + '{"id": null}\n'), lines=True)["id"]))
print("read_csv, the same and one empty:", texts(pd.read_csv(io.StringIO(f"id,x\n{ONE},1\n{OTHER},2\n,3\n"))["id"]))
print("Series([ids, None]).astype('Int64'):", texts(pd.Series([ONE, OTHER, None]).astype("Int64")))
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
