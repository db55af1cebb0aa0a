#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 (PyPI) and its own mock cluster, Python 3.11, 28 November 2026
#
# One would guess: pause() ends with the assignment. "Rebalance will not preserve the pause/resume state", says the Java client's javadoc.
# What happens: in librdkafka the pause belongs to the topic and partition for as long as the consumer lives. A member pauses its partitions,
# loses two of them to another member, gets them back when that one leaves, and on_assign is called with all four: all four are still
# paused, though two were another member's in between. poll() returns None, there is no error, the group has a live member, and the lag
# grows until somebody calls resume(). Python's documentation does not say so; confluent-kafka-go's does, since its issue 193.
# Whom it hurts: workers that pause while they are busy and resume "what I have paused" from a list that on_revoke has emptied, as one does
# in Java: their partitions are never read again. It helps to call resume() for all partitions in on_assign.
#
# Output seen (a topic of 4 partitions; one record is written into each at the end):
# | not paused: given 4, then 2 and the other member 2, then 4 again; reads 4 new records, after resume() 4
# | paused: given 4, then 2 and the other member 2, then 4 again; reads 0 new records, after resume() 4
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
import time
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import Consumer, Producer

cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
[broker] = cluster.list_topics(timeout=30).brokers.values()
COMMON = {"bootstrap.servers": f"{broker.host}:{broker.port}", "auto.offset.reset": "earliest", "log_level": 0}


def write(topic, value):
    for number in range(4):
        cluster.produce(topic, value, partition=number)
    assert cluster.flush(30) == 0


class Member:
    def __init__(self, topic):
        self.given, self.new = 0, set()
        self.consumer = Consumer({**COMMON, "group.id": topic, "session.timeout.ms": 10000})
        self.consumer.subscribe([topic], on_assign=self.assigned)

    def assigned(self, _, places):
        self.given = len(places)

    def poll(self):
        message = self.consumer.poll(0.1)
        if message is not None and message.value() == b"new":
            self.new.add(message.partition())


def until(what, *members, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not what():
        for member in members:
            member.poll()
    return what()


def course(topic, pausing):
    write(topic, b"old")
    first = Member(topic)
    assert until(lambda: first.given == 4, first)
    if pausing:
        first.consumer.pause(first.consumer.assignment())
    other = Member(topic)
    assert until(lambda: first.given == 2 and other.given == 2, first, other)
    other.consumer.close()
    assert until(lambda: first.given == 4, first)
    write(topic, b"new")
    until(lambda: len(first.new) == 4, first, seconds=8)
    read = len(first.new)
    first.consumer.resume(first.consumer.assignment())
    until(lambda: len(first.new) == 4, first, seconds=30)
    first.consumer.close()
    return f"given 4, then 2 and the other member 2, then 4 again; reads {read} new records, after resume() {len(first.new)}"


with ThreadPoolExecutor(2) as both:
    plain, paused = both.submit(course, "plain", False), both.submit(course, "paused", True)
    print("not paused:", plain.result())
    print("paused:", paused.result())
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
