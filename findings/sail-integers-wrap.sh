#!/usr/bin/env bash
# pysail 0.7.2 (client: pyspark-client 4.2.0, pyarrow 26.0.1; PyPI), Python 3.11, 28 November 2026
#
# One would guess: as in Spark 4, whose ANSI mode is on by default, an integer that does not fit raises an error. Sail says the same of itself in
# casts, and it takes spark.sql.ansi.enabled=true without a word.
# What happens: only casts raise. Sums, products and the results of Python functions that do not fit are given out as other numbers, or as null,
# without an error or a warning. Two small literals are enough: 5 * 1000000000, five seconds in nanoseconds, is 705032704, since both are int,
# so a filter for waits of more than five seconds finds one of three seconds. Of what a Python function returns, a udf keeps the lowest 32 bits,
# and mapInArrow makes it null. Apache Spark 4.2.1 raises ARITHMETIC_OVERFLOW for the first three, and an error for both functions (looked at on
# the same day). A suffix L, or a cast before the sum, is right on both.
# Whom it hurts: whoever moves a query from Spark to Sail and compares times in ns, or sums up hashes or byte counts: the numbers look plausible.
#
# Output seen:
# | 5 * 1000000000: 705032704
# | waits of 3 s that are above 5 * 1000000000 ns, of 1: 1
# | sum of the bigints 9223372036854775807 and 1: -9223372036854775808
# | a Python function declared int returns 5000000000: 705032704
# | mapInArrow declared n int gives 5000000000: None
# | cast(5000000000 as int): NumberFormatException
# | 5L * 1000000000: 5000000000
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
import pyarrow as pa
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

server = SparkConnectServer(ip="127.0.0.1", port=0)
server.start(background=True)
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
spark.conf.set("spark.sql.ansi.enabled", "true")


def show(what, rows):
    try:
        print(f"{what}: {rows().collect()[0][0]}")
    except Exception as error:
        print(f"{what}: {type(error).__name__}")


def five(batches):
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"n": [5_000_000_000]})


show("5 * 1000000000", lambda: spark.sql("select 5 * 1000000000"))
show("waits of 3 s that are above 5 * 1000000000 ns, of 1", lambda: spark.sql("select count(*) from values (3000000000) t(ns) where ns > 5 * 1000000000"))
show("sum of the bigints 9223372036854775807 and 1", lambda: spark.sql("select sum(n) from values (9223372036854775807L), (1L) t(n)"))
show("a Python function declared int returns 5000000000", lambda: spark.range(1).select(F.udf(lambda _: 5_000_000_000, "int")("id")))
show("mapInArrow declared n int gives 5000000000", lambda: spark.range(1).mapInArrow(five, "n int"))
show("cast(5000000000 as int)", lambda: spark.sql("select cast(5000000000 as int)"))
show("5L * 1000000000", lambda: spark.sql("select 5L * 1000000000"))
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
