#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 (PyPI, wheel for Linux) and its own mock cluster, Python 3.11, 28 November 2026
#
# One would guess: error.retriable() of a delivery report says whether it may help to try again: yes for
# NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT and others that Kafka's table of errors calls retriable, no for MSG_SIZE_TOO_LARGE.
# What happens: it says no to all of them. librdkafka sets the mark only in errors of the transactional calls (init_transactions and
# others), and where it was never set, it reads as False; the docstring says "If the operation that failed may be retried", without a limit.
# So code that sends again what is retriable and puts the rest aside, as Java's RetriableException invites to, puts everything aside: the
# records of a short shrink of the ISR go to the dead letters as if they were malformed.
# Whom it hurts: retry and dead letter code around produce().
#
# Output seen (retries=0, so that the first answer of the broker is told):
# | delivery report NOT_ENOUGH_REPLICAS (Kafka: retriable): retriable() False
# | delivery report REQUEST_TIMED_OUT (Kafka: retriable): retriable() False
# | delivery report KAFKA_STORAGE_ERROR (Kafka: retriable): retriable() False
# | delivery report MSG_SIZE_TOO_LARGE (Kafka: not retriable): retriable() False
# | delivery report _MSG_TIMED_OUT (no broker reached): retriable() False
# | init_transactions() _TIMED_OUT (no broker reached): retriable() True
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

{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check confluent-kafka==2.16.1; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
import ctypes
from pathlib import Path

import confluent_kafka
from confluent_kafka import KafkaException, Producer

PRODUCE = 0  # the key of its API
# The mock cluster's functions, which Python has not: in the library that the wheel brings.
[path] = Path(confluent_kafka.__file__).parent.parent.glob("confluent_kafka.libs/librdkafka*")
library = ctypes.CDLL(str(path))
for name in ("rd_kafka_new", "rd_kafka_mock_cluster_new"):
    getattr(library, name).restype = ctypes.c_void_p
library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
client = ctypes.c_void_p(library.rd_kafka_new(0, None, None, ctypes.c_size_t(0)))
cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(client, 1))
COMMON = {"bootstrap.servers": library.rd_kafka_mock_cluster_bootstraps(cluster).decode(), "log_level": 0}
AWAY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


def answer(code):
    """The next Produce is answered with this error code."""
    codes = (ctypes.c_int * 1)(code)
    library.rd_kafka_mock_push_request_errors_array(cluster, ctypes.c_int16(PRODUCE), ctypes.c_size_t(1), codes)


def report(settings):
    reports = []
    producer = Producer({**settings, "linger.ms": 0})
    producer.produce("t", b"x", partition=0, on_delivery=lambda error, _: reports.append(error))
    assert producer.flush(30) == 0
    return reports[0]


for code, table in ((19, "retriable"), (7, "retriable"), (56, "retriable"), (10, "not retriable")):
    answer(code)
    error = report({**COMMON, "retries": 0})
    print(f"delivery report {error.name()} (Kafka: {table}): retriable() {error.retriable()}")
error = report({**AWAY, "delivery.timeout.ms": 1000})
print(f"delivery report {error.name()} (no broker reached): retriable() {error.retriable()}")

try:
    Producer({**AWAY, "transactional.id": "one"}).init_transactions(2)
except KafkaException as failed:
    error = failed.args[0]
    print(f"init_transactions() {error.name()} (no broker reached): retriable() {error.retriable()}")
PY
run "$work/venv/bin/python" "$work/look.py" >"$work/seen" || {
  echo "look.py did not come to its end" >&2
  exit 3
}
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
