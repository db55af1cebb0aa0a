#!/usr/bin/env bash
# DuckDB 2.0.1, Polars 2.1.0, pyarrow 26.0.1 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: a reader of JSON lines finds the types of fields in a sample, and what does not fit later is an error or is read all the same.
# What happens: that hangs on how a field that was empty in the sample was written, and rare errors are such fields. DuckDB looks at 20,480 lines
# (sample_size): if "error" was null in all of them, the column has the type NULL, and each later text is read as null, so count(error) is 0. If
# it was absent, SQL's read_json raises, while Python's duckdb.read_json leaves it out. Polars looks at 100 lines (infer_schema_length): it
# raises for null, leaves out a field that comes later, and reads texts in lists that were empty so far as nulls, in lists of the right length.
# The same program is right with a shorter file, or with one error at its top. sample_size=-1 and infer_schema_length=None are right, and
# pyarrow.json.read_json is as it is.
# Whom it hurts: whoever looks for the few failures in a long log of events.
#
# Output seen:
# | 30,000 lines, the last ten with an error; each line has "error", null or a text
# |   DuckDB, from read_json(file) in SQL: 30000 rows, 0 errors
# |   DuckDB, duckdb.read_json(file): 30000 rows, 0 errors
# |   DuckDB, sample_size=-1: 30000 rows, 10 errors
# |   Polars: ComputeError
# |   Polars, infer_schema_length=None: 30000 rows, 10 errors
# |   pyarrow: 30000 rows, 10 errors
# | 30,000 lines, the last ten with an error; each line has "errors", an empty list or one of a text
# |   DuckDB, from read_json(file) in SQL: 30000 rows, 10 errors
# |   DuckDB, duckdb.read_json(file): 30000 rows, 10 errors
# |   DuckDB, sample_size=-1: 30000 rows, 10 errors
# |   Polars: 30000 rows, 0 errors
# |   Polars, infer_schema_length=None: 30000 rows, 10 errors
# |   pyarrow: 30000 rows, 10 errors
# | 30,000 lines, the last ten with an error; "error" is only where there is one
# |   DuckDB, from read_json(file) in SQL: InvalidInputException
# |   DuckDB, duckdb.read_json(file): 30000 rows, no such column
# |   DuckDB, sample_size=-1: 30000 rows, 10 errors
# |   Polars: 30000 rows, no such column
# |   Polars, infer_schema_length=None: 30000 rows, 10 errors
# |   pyarrow: 30000 rows, 10 errors
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
import json
import os

import duckdb
import polars as pl
import pyarrow.json

folder = os.path.dirname(os.path.abspath(__file__))
forms = {
    'each line has "error", null or a text': lambda failed: {"error": "timeout" if failed else None},
    'each line has "errors", an empty list or one of a text': lambda failed: {"errors": ["timeout"] if failed else []},
    '"error" is only where there is one': lambda failed: {"error": "timeout"} if failed else {},
}


def texts(values):
    """The texts that were read: of a column of texts, or of lists of texts."""
    return sum(value is not None for one in values for value in (one if isinstance(one, list) else [one]))


def show(what, read):
    """`read` gives a function from a column's name to its values, and the columns' names."""
    try:
        values, names = read()
        column = next((name for name in names if name.startswith("error")), None)
        found = f"{len(values('seq'))} rows, " + (f"{texts(values(column))} errors" if column else "no such column")
    except Exception as error:
        found = type(error).__name__
    print(f"  {what}: {found}")


def by_duckdb(table):
    rows = table.fetchall()
    return (lambda name: [row[table.columns.index(name)] for row in rows]), table.columns


def by_polars(**options):
    table = pl.read_ndjson(file, **options)
    return (lambda name: table[name].to_list()), table.columns


def by_pyarrow():
    table = pyarrow.json.read_json(file)
    return (lambda name: table[name].to_pylist()), table.column_names


for number, (form, fields) in enumerate(forms.items()):
    file = f"{folder}/{number}.jsonl"
    with open(file, "w") as lines:
        for seq in range(30_000):
            lines.write(json.dumps({"seq": seq, **fields(seq >= 29_990)}) + "\n")
    print(f"30,000 lines, the last ten with an error; {form}")
    show("DuckDB, from read_json(file) in SQL", lambda: by_duckdb(duckdb.sql(f"from read_json('{file}')")))
    show("DuckDB, duckdb.read_json(file)", lambda: by_duckdb(duckdb.read_json(file)))
    show("DuckDB, sample_size=-1", lambda: by_duckdb(duckdb.read_json(file, sample_size=-1)))
    show("Polars", by_polars)
    show("Polars, infer_schema_length=None", lambda: by_polars(infer_schema_length=None))
    show("pyarrow", by_pyarrow)
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
