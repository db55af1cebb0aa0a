#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: delivery.timeout.ms=60s is refused, since the value is no number (as an unknown name is refused, and as Java's client does).
# What happens: librdkafka reads a number as far as it is one, and drops the rest without a word: 60s, 60_000, "60 000" and 60,000 are all
# 60 MILLISECONDS, and 1e5 is 1. It reads it as C does, too: 0100 is octal, 64. Only a value that does not begin as a number is refused. So
# a producer that was meant to hold its records for a minute while brokers are away gives them up within a second, with _MSG_TIMED_OUT
# for each. What was understood is told only with debug=conf.
# Whom it hurts: whoever fills settings in from YAML, environment variables or Helm values, where "60s" and "60_000" are at home.
#
# Output seen (a producer whose broker is away, asked after 4 s; 64 messages fit into a queue of 0100):
# | delivery.timeout.ms='60000'   waiting
# | delivery.timeout.ms='60s'     given up: _MSG_TIMED_OUT
# | delivery.timeout.ms='60_000'  given up: _MSG_TIMED_OUT
# | delivery.timeout.ms='60 000'  given up: _MSG_TIMED_OUT
# | delivery.timeout.ms='60,000'  given up: _MSG_TIMED_OUT
# | delivery.timeout.ms='1 min'   given up: _MSG_TIMED_OUT
# | delivery.timeout.ms='a min'   refused: Invalid value for configuration property "message.timeout.ms"
# | queue.buffering.max.messages='100'  records taken: 100
# | queue.buffering.max.messages='0100' records taken: 64
# | queue.buffering.max.messages='1e5'  records taken: 1
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
from confluent_kafka import KafkaException, Producer

AWAY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


def timed(value):
    reports = []
    try:
        producer = Producer({**AWAY, "delivery.timeout.ms": value})
    except KafkaException as error:
        return f"refused: {error.args[0].str()}"
    producer.produce("t", b"x", on_delivery=lambda error, _: reports.append(error.name()))
    producer.flush(4)
    seen = f"given up: {reports[0]}" if reports else "waiting"
    producer.purge()
    producer.flush(10)
    return seen


def taken(value):
    producer = Producer({**AWAY, "queue.buffering.max.messages": value})
    count = 0
    try:
        while count < 1000:
            producer.produce("t", b"x")
            count += 1
    except BufferError:
        pass
    producer.purge()
    producer.flush(10)
    return count


for value in ("60000", "60s", "60_000", "60 000", "60,000", "1 min", "a min"):
    print(f"delivery.timeout.ms={value!r:<9} {timed(value)}")
for value in ("100", "0100", "1e5"):
    print(f"queue.buffering.max.messages={value!r:<6} records taken: {taken(value)}")
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
