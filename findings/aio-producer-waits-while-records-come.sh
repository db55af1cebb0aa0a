#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 and its own mock cluster (PyPI), Python 3.11, 30 November 2026
#
# One would guess: buffer_timeout of AIOProducer (default: 1 s) is to its buffer what linger.ms is to librdkafka's: a record waits at most
# that long, then it is sent. And produce(topic, value, key, 3) writes to partition 3, as Producer's does.
# What happens: the time-out counts from the LAST record. While records come, however slowly, nothing is sent until batch_size (default: 1,000)
# of them are there: with one every 0.4 s the first record leaves after 400 s, and no future is done until then. Two seconds of silence,
# and all are sent at once. Whatever follows the key by position is taken without an error and dropped: the record goes to another partition.
# Whom it hurts: a service with a steady trickle, which does not await each future: its latency is 1,000 records long, and all of them are lost
# if it dies. A call rewritten from Producer to AIOProducer writes to other partitions.
#
# Output seen:
# | AIOProducer, a record every 0.4 s for 8 s: 0 of 20 acknowledged
# | AIOProducer, nothing more for 4 s: 20 of 20 acknowledged
# | AIOProducer, produce(topic, value, key, 3) went to partition 3: False
# | AIOProducer, produce(topic, value, key, partition=3) went to partition 3: True
# | Producer, the same: True (19 or all of 20 acknowledged)
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
import asyncio

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.aio import AIOProducer

cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
[broker] = cluster.list_topics(timeout=30).brokers.values()
BROKER = f"{broker.host}:{broker.port}"


def settings():
    return {"bootstrap.servers": BROKER, "log_level": 0}


async def trickle():
    producer = AIOProducer(settings(), buffer_timeout=1.0)
    sent = []
    for number in range(20):
        sent.append(await producer.produce("t", str(number), partition=0))
        await asyncio.sleep(0.4)
    print("AIOProducer, a record every 0.4 s for 8 s:", sum(one.done() for one in sent), "of 20 acknowledged")
    await asyncio.sleep(4)
    print("AIOProducer, nothing more for 4 s:", sum(one.done() for one in sent), "of 20 acknowledged")
    placed = await producer.produce("t", "to partition 3", "key", 3)
    await asyncio.sleep(4)
    print("AIOProducer, produce(topic, value, key, 3) went to partition 3:", (await placed).partition() == 3)
    named = await producer.produce("t", "to partition 3", "key", partition=3)
    await asyncio.sleep(4)
    print("AIOProducer, produce(topic, value, key, partition=3) went to partition 3:", (await named).partition() == 3)
    await producer.close()


async def as_ever():
    producer, acked = Producer(settings()), []
    for number in range(20):
        producer.produce("t", str(number), partition=0, on_delivery=lambda error, _: acked.append(error))
        await asyncio.sleep(0.4)
        producer.poll(0)
    print("Producer, the same:", acked.count(None) >= 19, "(19 or all of 20 acknowledged)")
    producer.flush(30)


asyncio.run(asyncio.wait_for(trickle(), 60))
asyncio.run(asyncio.wait_for(as_ever(), 60))
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
