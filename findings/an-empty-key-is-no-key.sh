#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 and its own mock cluster, aiokafka 0.14.0 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: all records with the same key are in the same partition, so also those whose key is the empty text; only records without
# a key are spread.
# What happens: with librdkafka's default partitioner, consistent_random, an empty key counts as none: its records are spread over all
# partitions, though each of them has the key b"" in the log, as null and empty are told apart there. So records of one key are in several
# partitions and have no order, several consumers of a group have them at once, and compaction keeps the last one of EACH partition. librdkafka's
# own "compatible" partitioner murmur2_random keeps them together, as aiokafka does (and as the Java client does); so does fnv1a_random.
# librdkafka's CONFIGURATION.md says so in the line of `partitioner`.
# Whom it hurts: whoever makes keys of a field that may be empty (a tenant, a region, the first column of a CSV file).
#
# Output seen (a topic of 4 partitions, 60 records with each key; the partitions in which they are):
# | librdkafka, default: key "" in [0, 1, 2, 3], no key in [0, 1, 2, 3], key "k" in [1]
# | librdkafka, murmur2_random: key "" in [1], no key in [0, 1, 2, 3], key "k" in [0]
# | librdkafka, fnv1a_random: key "" in [3], no key in [0, 1, 2, 3], key "k" in [2]
# | aiokafka: key "" in [1], no key in [0, 1, 2, 3], key "k" in [0]
# | read back from the topic written by default: 60 records with key b'', 60 with key None
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
import collections

import aiokafka
from confluent_kafka import Consumer, Producer, TopicPartition

cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
[broker] = cluster.list_topics(timeout=30).brokers.values()
BROKER = f"{broker.host}:{broker.port}"
for topic in ("default", "murmur2_random", "fnv1a_random", "aiokafka"):
    assert len(cluster.list_topics(topic, timeout=30).topics[topic].partitions) == 4  # the mock cluster makes it
KEYS = {'key ""': b"", "no key": None, 'key "k"': b"k"}
TIMES = 60


def show(client, seen):
    print(f"{client}:", ", ".join(f"{what} in {sorted(partitions)}" for what, partitions in seen.items()))


for topic in ("default", "murmur2_random", "fnv1a_random"):
    chosen = {} if topic == "default" else {"partitioner": topic}
    producer = Producer(
        {"bootstrap.servers": BROKER, "log_level": 0, "linger.ms": 0, "sticky.partitioning.linger.ms": 0, **chosen}
    )
    seen = {what: set() for what in KEYS}
    for what, key in KEYS.items():
        for _ in range(TIMES):
            producer.produce(
                topic, b"x", key=key, on_delivery=lambda error, message: seen[what].add(message.partition())
            )
            assert producer.flush(30) == 0
    show(f"librdkafka, {topic}", seen)


async def aio():
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=BROKER) as producer:
        seen = {what: set() for what in KEYS}
        for what, key in KEYS.items():
            for _ in range(TIMES):
                seen[what].add((await producer.send_and_wait("aiokafka", b"x", key=key)).partition)
        show("aiokafka", seen)


asyncio.run(asyncio.wait_for(aio(), 60))
consumer = Consumer({"bootstrap.servers": BROKER, "group.id": "g", "log_level": 0})
consumer.assign([TopicPartition("default", number, 0) for number in range(4)])
keys = collections.Counter()
while keys.total() < 3 * TIMES:
    message = consumer.poll(30)
    assert message is not None, f"only {keys}"
    keys[message.key()] += 1
consumer.close()
print(f"read back from the topic written by default: {keys[b'']} records with key b'', {keys[None]} with key None")
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
