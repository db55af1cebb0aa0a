#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 and its own mock cluster, aiokafka 0.14.0 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: commit() without arguments, and close(), commit the position, so the place to which seek() has gone, as Java's do.
# What happens: librdkafka commits what it has handed out last, plus one; seek() does not change that until the next record has come out of
# poll(). A consumer that has read ten records, finds that the last five failed, seeks back to 5 and commits (or is closed then, with
# enable.auto.commit) leaves 10 in the group: the next process begins behind the five, which nobody handles. A seek FORWARD, over records
# that shall be skipped, is forgotten likewise, and they come again. position() is no help: after seek() it says -1001, which is no offset
# but "none". It says so too in a consumer that has resumed at a committed offset and has had no record yet, so that "end minus position"
# is a lag of 1,021. aiokafka, against the same brokers, has and commits the place that was sought. (Tried by hand with a broker of
# Kafka 4.4.0, too: commit() leaves 10.)
# Whom it hurts: who handles a failed batch by seek() and a return to the loop that commits, and ends or is rebalanced before the next poll.
#
# Output seen (a partition of 20 records; ten of them were read):
# | aiokafka, seek to 5: position 5, commit leaves 5
# | confluent-kafka, seek to 5: position -1001, commit() leaves 10, the next process begins at 10
# | confluent-kafka, seek to 5: position -1001, close() leaves 10, the next process begins at 10
# | confluent-kafka, seek to 15: position -1001, close() leaves 10, the next process begins at 10
# | confluent-kafka, seek to 5 and one poll(): position 6, close() leaves 6, the next process begins at 6
# | confluent-kafka, begun again at the committed 10: position -1001
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

{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check confluent-kafka==2.16.1 aiokafka==0.14.0; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
import asyncio

import aiokafka
from confluent_kafka import Consumer, Producer, TopicPartition

cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
[broker] = cluster.list_topics(timeout=30).brokers.values()
BROKER = f"{broker.host}:{broker.port}"
for number in range(20):
    cluster.produce("t", str(number), partition=0)
assert cluster.flush(30) == 0
PLACE = [TopicPartition("t", 0)]


def opened(group):
    settings = {"bootstrap.servers": BROKER, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
    consumer = Consumer(settings)
    consumer.assign(PLACE)
    return consumer


def after_seek(group, offset, end, polls=0):
    consumer = opened(group)
    assert [consumer.poll(30).offset() for _ in range(10)] == list(range(10))
    consumer.seek(TopicPartition("t", 0, offset))
    for _ in range(polls):
        assert consumer.poll(30).offset() == offset
    [position] = consumer.position(PLACE)
    if end == "commit()":
        consumer.commit(asynchronous=False)
    consumer.close()
    successor = opened(group)
    [left] = successor.committed(PLACE, timeout=30)
    first = successor.poll(30).offset()
    successor.close()
    return f"position {position.offset}, {end} leaves {left.offset}, the next process begins at {first}"


async def aio():
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=BROKER, group_id="aio", enable_auto_commit=False, auto_offset_reset="earliest"
    )
    await consumer.start()
    place = aiokafka.TopicPartition("t", 0)
    consumer.assign([place])
    for _ in range(10):
        await consumer.getone()
    consumer.seek(place, 5)
    await consumer.commit()
    print(f"aiokafka, seek to 5: position {await consumer.position(place)}, commit leaves {await consumer.committed(place)}")
    await consumer.stop()


asyncio.run(asyncio.wait_for(aio(), 60))
print("confluent-kafka, seek to 5:", after_seek("a", 5, "commit()"))
print("confluent-kafka, seek to 5:", after_seek("b", 5, "close()"))
print("confluent-kafka, seek to 15:", after_seek("c", 15, "close()"))
print("confluent-kafka, seek to 5 and one poll():", after_seek("d", 5, "close()", polls=1))
again = opened("a")
print("confluent-kafka, begun again at the committed 10: position", again.position(PLACE)[0].offset)
again.close()
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
