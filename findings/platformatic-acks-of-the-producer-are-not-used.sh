#!/usr/bin/env bash
# @platformatic/kafka 2.12.1 with Node 22.23.3 (npm), librdkafka 2.16.0's mock cluster as the broker (confluent-kafka 2.16.1, PyPI),
# 30 November 2026
#
# One would guess: new Producer({acks: -1}) waits for all in-sync replicas with every send, as an `acks` in the configuration of any other client does.
# The constructor checks the option (a value that is no acks is refused), and `idempotent` given there does count for every send.
# What happens: the option is kept and never read. Unless the call of send() has an `acks` of its own, it asks for acks 1, the leader's confirmation alone.
# Whom it hurts: a service that is configured in one place. It believes that its records are on all in-sync replicas; when a leader dies or is cut off, what
# it alone had is gone, and was confirmed.
#
# Output seen:
# | new Producer({}), send({messages}): acks 1
# | new Producer({acks: -1}), send({messages}): acks 1
# | new Producer({acks: -1}), send({messages, acks: -1}): acks -1
# | new Producer({acks: 7}): refused
set -euo pipefail
set -m # each command is a process group of its own, so that all that it has started can be ended
work=$(mktemp -d)
export TMPDIR=$work npm_config_cache=$work/npm # for what pip, npm and others put aside
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

{
  run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check confluent-kafka==2.16.1 &&
    run npm install --prefix "$work" --no-audit --no-fund --loglevel error node@22.23.3 @platformatic/kafka@2.12.1 >/dev/null
} || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/broker.py" <<'PY'
import os
import sys
import time

from confluent_kafka import Producer

cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
cluster.produce("t", b"x")  # creates the topic
assert cluster.flush(30) == 0
[broker] = cluster.list_topics(timeout=30).brokers.values()
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{broker.host}:{broker.port}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(300)
PY

cat >"$work/look.mjs" <<'JS'
import net from 'node:net'

import {Producer} from '@platformatic/kafka'

// What a Produce request asks for: its acks stand behind the header (with client id) and the transactional id.
let asked
const write = net.Socket.prototype.write
net.Socket.prototype.write = function (data, ...more) {
  if (Buffer.isBuffer(data) && data.length > 20 && data.readInt16BE(4) === 0 && data.readInt32BE(0) + 4 === data.length) {
    const flexible = data.readInt16BE(6) >= 9
    let at = 14 + Math.max(0, data.readInt16BE(12)) + (flexible ? 1 : 0)
    at += flexible ? Math.max(1, data[at]) : 2 + Math.max(0, data.readInt16BE(at))
    asked = data.readInt16BE(at)
  }
  return write.call(this, data, ...more)
}

async function look(words, options, own) {
  const producer = new Producer({clientId: 'look', bootstrapBrokers: [process.argv[2]], ...options})
  asked = undefined
  await producer.send({messages: [{topic: 't', key: Buffer.from('k'), value: Buffer.from('v')}], ...own})
  await producer.close()
  console.log(`${words}: acks ${asked}`)
}

await look('new Producer({}), send({messages})', {}, {})
await look('new Producer({acks: -1}), send({messages})', {acks: -1}, {})
await look('new Producer({acks: -1}), send({messages, acks: -1})', {acks: -1}, {acks: -1})
try {
  new Producer({clientId: 'look', bootstrapBrokers: [process.argv[2]], strict: true, acks: 7})
  console.log('new Producer({acks: 7}): taken')
} catch {
  console.log('new Producer({acks: 7}): refused')
}
JS

"$work/venv/bin/python" "$work/broker.py" "$work/address" </dev/null >"$work/broker.log" 2>&1 &
for _ in $(seq 300); do [[ -s $work/address ]] && break; sleep 0.1; done
run timeout 120 "$work/node_modules/node/bin/node" "$work/look.mjs" "$(cat "$work/address")" >"$work/seen" 2>"$work/errors" || {
  cat "$work/errors" "$work/broker.log" >&2
  echo "look.mjs did not come to its end" >&2
  exit 3
}
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
