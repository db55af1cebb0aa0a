#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 (PyPI, wheel for Linux) and its own mock cluster, Python 3.11, 28 November 2026
#
# One would guess: with retries=0 a batch is sent once; if the broker refuses it, the delivery report says so, and nothing is written twice.
# What happens: answers that librdkafka takes to mean "ask the other broker" (NOT_LEADER_FOR_PARTITION, UNKNOWN_TOPIC_OR_PART,
# LEADER_NOT_AVAILABLE) do not count as tries: it asks for new metadata and sends the same batch again, as often as it gets such an answer,
# until delivery.timeout.ms is over. The report is a plain success, and nothing in it tells how often the batch was sent. Errors of another
# kind, also such as Kafka calls retriable, end the send at once, as one would guess. NOT_LEADER_FOR_PARTITION can be answered AFTER the
# record was appended (KAFKA-13574: acks=all, and the leader resigned while it waited for its followers); then the record is in the log twice.
# Whom it hurts: who chooses retries=0, without idempotence, for "at most once": to have no duplicates at leader elections.
#
# Output seen (retries=0, acks=all; the broker's answers to one record, what the report says, and how many Produce requests there were):
# | no error: success, 1 request
# | NOT_LEADER_FOR_PARTITION: success, 2 requests
# | NOT_LEADER_FOR_PARTITION x 4: success, 5 requests
# | UNKNOWN_TOPIC_OR_PART: success, 2 requests
# | LEADER_NOT_AVAILABLE: success, 2 requests
# | REQUEST_TIMED_OUT: REQUEST_TIMED_OUT, 1 request
# | NOT_ENOUGH_REPLICAS: NOT_ENOUGH_REPLICAS, 1 request
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
from confluent_kafka import KafkaError, Producer

PRODUCE = 0  # the key of its API
# The mock cluster's functions, which Python has not: in the library that the wheel brings.
[path] = Path(confluent_kafka.__file__).parent.parent.glob("confluent_kafka.libs/librdkafka*")
library = ctypes.CDLL(str(path))
for name in ("rd_kafka_new", "rd_kafka_mock_cluster_new"):
    getattr(library, name).restype = ctypes.c_void_p
library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
library.rd_kafka_mock_get_requests.restype = ctypes.POINTER(ctypes.c_void_p)
client = ctypes.c_void_p(library.rd_kafka_new(0, None, None, ctypes.c_size_t(0)))
cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(client, 1))
BROKER = library.rd_kafka_mock_cluster_bootstraps(cluster).decode()
library.rd_kafka_mock_start_request_tracking(cluster)


def produced():
    """How many Produce requests there were since the last question."""
    count = ctypes.c_size_t()
    requests = library.rd_kafka_mock_get_requests(cluster, ctypes.byref(count))
    keys = [library.rd_kafka_mock_request_api_key(ctypes.c_void_p(requests[one])) for one in range(count.value)]
    library.rd_kafka_mock_clear_requests(cluster)
    return keys.count(PRODUCE)


def send(*answers):
    producer = Producer(
        {"bootstrap.servers": BROKER, "retries": 0, "acks": "all", "enable.idempotence": False, "log_level": 0}
    )
    producer.produce("t", b"before", partition=0)  # so that the leader is known
    assert producer.flush(60) == 0
    produced()
    if answers:
        codes = (ctypes.c_int * len(answers))(*answers)
        size = ctypes.c_size_t(len(answers))
        library.rd_kafka_mock_push_request_errors_array(cluster, ctypes.c_int16(PRODUCE), size, codes)
    reports = []
    producer.produce("t", b"x", partition=0, on_delivery=lambda error, _: reports.append(error))
    assert producer.flush(60) == 0
    words = KafkaError(answers[0]).name() + (f" x {len(answers)}" if len(answers) > 1 else "") if answers else "no error"
    count = produced()
    said = reports[0].name() if reports[0] else "success"
    print(f"{words}: {said}, {count} request{'s' if count > 1 else ''}")


send()
for answers in ((6,), (6, 6, 6, 6), (3,), (5,), (7,), (19,)):
    send(*answers)
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
