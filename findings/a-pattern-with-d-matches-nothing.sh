#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 (PyPI, wheel for Linux with glibc) and its own mock cluster, Python 3.11, 28 November 2026
#
# One would guess: subscribe([r"^orders-\d+$"]) reads orders-1 and orders-22, as in Java's client and in Python, or it is refused.
# What happens: the classic protocol matches topics in the client, with the C library's POSIX expressions. Those have no \d: it is the letter
# d. Nothing is refused; the consumer joins its group, is assigned nothing, and the group stands there with a member and no lag. Only one
# event is told, in which poll() returns an error that sounds like a topic that is not there yet. \w and \b are known to the same library, so
# a pattern that was tried with one of them proves nothing. A topic that really is called orders-d is read.
# With group.protocol=consumer the same pattern goes to the broker, whose RE2/J knows \d (librdkafka, INTRODUCTION.md, Regex Subscription Changes;
# tried by hand with Kafka 4.4.0: the classic protocol reads orders-d, the new one orders-1).
# Whom it hurts: who takes a subscription over from Java or tries it with Python's re; new topics are then never read, and nothing falls behind.
#
# Output seen (topics: orders-1, orders-22, orders-d, payments; a consumer is asked until it has partitions or an error):
# | Python's re.match, ^orders-\d+$: orders-1, orders-22
# | ^orders-[0-9]+$: orders-1, orders-22
# | ^orders-[[:digit:]]+$: orders-1, orders-22
# | ^orders-\w+$: orders-1, orders-22, orders-d
# | ^orders-\d+$: orders-d
# | ^orders-\d\d$: nothing; UNKNOWN_TOPIC_OR_PART: Subscribed topic not available: ^orders-\d\d$: Broker: Unknown topic or partition
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
import re
import time

from confluent_kafka import Consumer, Producer

TOPICS = ["orders-1", "orders-22", "orders-d", "payments"]
cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
[broker] = cluster.list_topics(timeout=30).brokers.values()
for topic in TOPICS:
    cluster.produce(topic, b"x")
assert cluster.flush(30) == 0


def subscribed(pattern):
    consumer = Consumer(
        {"bootstrap.servers": f"{broker.host}:{broker.port}", "group.id": f"group of {pattern}", "log_level": 0}
    )
    errors = []
    consumer.subscribe([pattern])
    until = time.monotonic() + 60
    while time.monotonic() < until and not consumer.assignment() and not errors:
        message = consumer.poll(0.1)
        if message is not None and message.error():
            errors.append(f"{message.error().name()}: {message.error().str()}")
    topics = sorted({place.topic for place in consumer.assignment()})
    consumer.close()
    return "; ".join([", ".join(topics) or "nothing", *errors])


print(r"Python's re.match, ^orders-\d+$:", ", ".join(one for one in TOPICS if re.match(r"^orders-\d+$", one)))
for pattern in (r"^orders-[0-9]+$", r"^orders-[[:digit:]]+$", r"^orders-\w+$", r"^orders-\d+$", r"^orders-\d\d$"):
    print(f"{pattern}:", subscribed(pattern))
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
