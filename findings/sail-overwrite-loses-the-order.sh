#!/usr/bin/env bash
# pysail 0.7.2 (client: pyspark-client 4.2.0, pyarrow 26.0.1; PyPI), Python 3.11, 28 November 2026
#
# One would guess: rows that are sorted last (orderBy, or sortWithinPartitions) are in that order in the file that is written, whatever the mode;
# mode("overwrite") differs from the others only if there is something to overwrite.
# What happens: with mode("overwrite") Sail drops the sorting, also where the folder did not exist, and writes the rows in their old order; with
# the other modes the file is sorted. It also drops the sorting before coalesce(1), which is there to get one sorted file, and before mapInArrow.
# With limit() the order stays. No error, no warning, and collect() of the same DataFrame is sorted, so whoever looks at it first sees nothing.
# Apache Spark 4.2.1 keeps the order in all of these (looked at on the same day).
# Whom it hurts: programs that read the file from its beginning to its end, such as a replay in the order of time, a diff of two exports, or a
# merge of sorted files; and Parquet files lose the narrow minima and maxima for which they were sorted.
#
# Output seen (the rows are given as 3, 1, 2):
# | orderBy, collect(): [1, 2, 3]
# | orderBy, write.mode('error'): [1, 2, 3]
# | orderBy, write.mode('append'): [1, 2, 3]
# | orderBy, write.mode('overwrite'): [3, 1, 2]
# | sortWithinPartitions, write.mode('overwrite'): [3, 1, 2]
# | orderBy, limit(3), write.mode('overwrite'): [1, 2, 3]
# | orderBy, coalesce(1), write.mode('append'): [3, 1, 2]
# | orderBy, coalesce(1), collect(): [3, 1, 2]
# | orderBy, mapInArrow, collect(): [3, 1, 2]
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
import glob
import os

import pyarrow.parquet as pq
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

folder = os.path.dirname(os.path.abspath(__file__))
server = SparkConnectServer(ip="127.0.0.1", port=0)
server.start(background=True)
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
given = spark.createDataFrame([(3,), (1,), (2,)], "id int")
rows = given.orderBy("id")


def written(rows, mode):
    """The ids in the one Parquet file that is written."""
    rows.write.mode(mode).parquet(f"{folder}/{mode}")
    (file,) = glob.glob(f"{folder}/{mode}/*.parquet")
    found = pq.read_table(file)["id"].to_pylist()
    os.remove(file)
    return found


print("orderBy, collect():", [row.id for row in rows.collect()])
for mode in ("error", "append", "overwrite"):
    print(f"orderBy, write.mode({mode!r}):", written(rows, mode))
print("sortWithinPartitions, write.mode('overwrite'):", written(given.sortWithinPartitions("id"), "overwrite"))
print("orderBy, limit(3), write.mode('overwrite'):", written(rows.limit(3), "overwrite"))
print("orderBy, coalesce(1), write.mode('append'):", written(rows.coalesce(1), "append"))
print("orderBy, coalesce(1), collect():", [row.id for row in rows.coalesce(1).collect()])
print("orderBy, mapInArrow, collect():", [row.id for row in rows.mapInArrow(lambda batches: batches, "id int").collect()])
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
