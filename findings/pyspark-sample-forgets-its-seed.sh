#!/usr/bin/env bash
# pyspark-client 4.2.0 with pysail 0.7.2 as its server (PyPI), Python 3.11, 28 November 2026; pyspark 4.2.1 with Apache Spark does the same
#
# One would guess: df.sample(0.1, seed=3) draws the same rows at each call. The call fits the declared signature sample(fraction, seed), so a
# type checker says nothing either, and without a seed there would be no seed=3.
# What happens: it draws other rows at each call. Where the fraction is the first argument, PySpark takes what stands second BY POSITION for
# the seed, and a seed that is given by its name is dropped, without an error or a warning. So it is in the code of the client, classic and
# Connect, whatever the server. sample(0.1, 3), sample(fraction=0.1, seed=3) and sample(False, 0.1, seed=3) keep to their seed.
# Whom it hurts: tests and comparisons that are said to be repeatable, and a sample that is drawn twice, for training and for looking at it.
#
# Output seen:
# | rows.sample(0.1, seed=3), called twice: other rows
# | rows.sample(0.1, None, 3), called twice: other rows
# | rows.sample(0.1, 3), called twice: the same rows
# | rows.sample(fraction=0.1, seed=3), called twice: the same rows
# | rows.sample(False, 0.1, seed=3), called twice: the same rows
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
{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check pysail==0.7.2 pyspark-client==4.2.0 pandas==2.3.3 pyarrow==26.0.1 protobuf==6.33.6; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

server = SparkConnectServer(ip="127.0.0.1", port=0)
server.start(background=True)
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
rows = spark.range(0, 10_000, 1, 1)


def drawn(rows):
    return sorted(row.id for row in rows.collect())


for call in (
    "sample(0.1, seed=3)",
    "sample(0.1, None, 3)",
    "sample(0.1, 3)",
    "sample(fraction=0.1, seed=3)",
    "sample(False, 0.1, seed=3)",
):
    first, second = (drawn(eval(f"rows.{call}")) for _ in range(2))
    print(f"rows.{call}, called twice:", "the same rows" if first == second else "other rows")
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
