#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 (PyPI) and its own mock cluster, Python 3.11, 28 November 2026
#
# One would guess: `if message:` asks whether poll() returned something, as `is not None` does; and what has an error has no value.
# What happens: a Message has a length, that of its value, so a record with an empty value is false. A tombstone, which tells of a deletion
# in a compacted topic, has no value at all, and is false as well. `if not message: continue` passes over both without a word, and the
# consumer's position and commits go past them: what was deleted lives on in the table that is built from the topic. The end of a partition
# (enable.partition.eof), however, comes as a true message with a value: the words of the error, at the offset behind the last record. A loop
# that asks for the truth only takes that for a record. DeserializingConsumer's messages may have no truth at all: asking raises
# TypeError when the value is a number.
# Whom it hurts: everybody who writes the usual walrus loop, `if msg := consumer.poll(1)`. The documentation's loop has `is None`.
#
# Output seen:
# | is not None: value b'one', value b'', value None (tombstone), value b'four', end of partition with value b'Fetch from broker 1 reached end of partition at offset 4 (HighwaterMark 4)'
# | if message:  value b'one', value b'four', end of partition with value b'Fetch from broker 1 reached end of partition at offset 4 (HighwaterMark 4)'
# | committed by the loop that saw 2 of 4 records: 4
# | a deserialised value of 7: TypeError: object of type 'int' has no len()
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
from confluent_kafka import Consumer, DeserializingConsumer, Producer, TopicPartition
from confluent_kafka.serialization import IntegerDeserializer

cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
[broker] = cluster.list_topics(timeout=30).brokers.values()
common = {"bootstrap.servers": f"{broker.host}:{broker.port}", "auto.offset.reset": "earliest", "log_level": 0}
for value in (b"one", b"", None, b"four"):
    cluster.produce("table", value, key=b"k", partition=0)
cluster.produce("numbers", (7).to_bytes(4, "big"), partition=0)
assert cluster.flush(30) == 0


def words(message):
    if message.error():
        return f"end of partition with value {message.value()}"
    return f"value {message.value()}" + (" (tombstone)" if message.value() is None else "")


def read(group, taken):
    """The messages for which `taken` is true, until the partition's end has come."""
    consumer = Consumer({**common, "group.id": group, "enable.partition.eof": True})
    consumer.assign([TopicPartition("table", 0)])
    found, ended = [], False
    for _ in range(300):
        message = consumer.poll(0.1)
        ended = ended or (message is not None and message.error() is not None)
        if taken(message):
            found.append(words(message))
        if ended:
            break
    consumer.close()
    return ", ".join(found)


print("is not None:", read("a", lambda message: message is not None))
print("if message: ", read("b", lambda message: message))
asker = Consumer({**common, "group.id": "b"})
[committed] = asker.committed([TopicPartition("table", 0)], timeout=30)
asker.close()
print("committed by the loop that saw 2 of 4 records:", committed.offset)

consumer = DeserializingConsumer({**common, "group.id": "c", "value.deserializer": IntegerDeserializer()})
consumer.assign([TopicPartition("numbers", 0)])
message = consumer.poll(30)
try:
    print("a deserialised value of 7:", bool(message))
except TypeError as error:
    print(f"a deserialised value of {message.value()}: TypeError: {error}")
consumer.close()
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
