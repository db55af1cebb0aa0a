#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 (PyPI) and its own mock cluster, Python 3.11, 28 November 2026
#
# One would guess: Producer.produce_batch(topic, messages) is produce() for each dict, only faster; what a dict says and it cannot do, is refused.
# What happens: "partition" of a message, which is documented as what "overrides the batch partition", is ignored: the partitioner, or the
# partition of the whole call, chooses, also where the named partition does not exist. "headers" are dropped in silence (the documentation
# says that they are not supported; "timestamp" is not either, but that raises NotImplementedError). "topic" of a message is ignored. A
# misspelt "value" makes a record without a value: in a compacted topic that deletes the key. And a record that does not fit into the queue
# raises no BufferError, as is documented, and is never told to on_delivery: the number that is returned is lower, and its dict has "_error".
# Whom it hurts: who replaces a loop of produce() by the new call; records go to other partitions than before, without their headers.
# Of the headers tells confluent-kafka-python's issue 2320 (open), of the partition librdkafka's 1604, whose remedy the Python call does not use.
#
# Output seen (a topic of 4 partitions, key b"k"):
# | produce(partition=3), headers [('h', b'x')]: in partition 3 of t, headers [('h', b'x')], value b'v'
# | produce_batch({'value': b'v', 'key': b'k', 'partition': 3}): returns 1, in partition 1 of t, headers None, value b'v'
# | produce_batch({'value': b'v', 'key': b'k', 'partition': 3}, partition=0): returns 1, in partition 0 of t, headers None, value b'v'
# | produce_batch({'value': b'v', 'key': b'k', 'partition': 99}): returns 1, in partition 1 of t, headers None, value b'v'
# | produce_batch({'value': b'v', 'key': b'k', 'headers': [('h', b'x')]}): returns 1, in partition 1 of t, headers None, value b'v'
# | produce_batch({'value': b'v', 'key': b'k', 'topic': 'other'}): returns 1, in partition 1 of t, headers None, value b'v'
# | produce_batch({'valeu': b'v', 'key': b'k'}): returns 1, in partition 1 of t, headers None, value None
# | produce_batch({'value': b'v', 'timestamp': 5}): NotImplementedError
# | a queue for 5, produce() x 8: BufferError at record 6
# | a queue for 5, produce_batch() of 8: returns 5, nothing raised, 5 delivery reports, 3 dicts with _error _QUEUE_FULL
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
from confluent_kafka import Consumer, Producer, TopicPartition

cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
[broker] = cluster.list_topics(timeout=30).brokers.values()
COMMON = {"bootstrap.servers": f"{broker.host}:{broker.port}", "log_level": 0}
assert len(cluster.list_topics("t", timeout=30).topics["t"].partitions) == 4  # the mock cluster makes it
producer = Producer(COMMON)
reader = Consumer({**COMMON, "group.id": "g"})
reader.assign([TopicPartition("t", number, 0) for number in range(4)])


def written():
    assert producer.flush(30) == 0
    found = reader.poll(30)
    return f"in partition {found.partition()} of {found.topic()}, headers {found.headers()}, value {found.value()}"


producer.produce("t", b"v", key=b"k", partition=3, headers=[("h", b"x")])
print("produce(partition=3), headers [('h', b'x')]:", written())
message = {"value": b"v", "key": b"k"}
for one, place in (
    ({**message, "partition": 3}, {}),
    ({**message, "partition": 3}, {"partition": 0}),
    ({**message, "partition": 99}, {}),
    ({**message, "headers": [("h", b"x")]}, {}),
    ({**message, "topic": "other"}, {}),
    ({"valeu": b"v", "key": b"k"}, {}),
):
    words = ", ".join([str(one), *(f"{name}={value}" for name, value in place.items())])
    print(f"produce_batch({words}): returns {producer.produce_batch('t', [one], **place)}, {written()}")
timed = {"value": b"v", "timestamp": 5}
try:
    print(producer.produce_batch("t", [timed]))
except NotImplementedError:
    print(f"produce_batch({timed}): NotImplementedError")
reader.close()

small = Producer({**COMMON, "queue.buffering.max.messages": 5, "linger.ms": 1000})
for number in range(1, 9):
    try:
        small.produce("full", b"v")
    except BufferError:
        print("a queue for 5, produce() x 8: BufferError at record", number)
        break
assert small.flush(30) == 0
reports, messages = [], [{"value": b"v"} for _ in range(8)]
count = small.produce_batch("full", messages, on_delivery=lambda error, _: reports.append(error))
assert small.flush(30) == 0
errors = [one["_error"].name() for one in messages if "_error" in one]
print(
    f"a queue for 5, produce_batch() of 8: returns {count}, nothing raised, {len(reports)} delivery reports, "
    f"{len(errors)} dicts with _error {errors[0]}"
)
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
