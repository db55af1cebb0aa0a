#!/usr/bin/env bash
# Apache Kafka 4.4.0 (Maven: org.apache.kafka:kafka_2.13:4.4.0, one broker on 127.0.0.1), confluent-kafka 2.16.1 (PyPI, librdkafka
# 2.16.0), Java 17, 28 November 2026
#
# One would guess: a static member (group.instance.id) that is killed and started again takes its old place at once. That is what
# static membership was made for (KIP-345), so it should hold with group.protocol=consumer (KIP-848) as it does with classic.
# What happens: with classic the new process takes over the place of the dead one at once. With consumer the broker refuses it,
# because the dead one still uses the id, until its session has ended (45 s by default, 10 s here). To librdkafka that is a fatal
# error: this consumer never reads again, and only one error of poll(), with the code _FATAL, says so. (poll() of the Java client,
# also tried, raises UnreleasedInstanceIdException.) A member WITHOUT an id only waits for the session and then goes on. So the
# setting that should spare a group the effects of a restart ends the process, or, in a loop over poll() that takes every error
# for a passing one, leaves it sitting there. It hurts whoever moves a group with static members to the new protocol; an orderly
# stop does not show it. The length of the session is the broker's to set (group.consumer.session.timeout.ms).
#
# Output seen:
# | classic, static: killed and started at once: 3 records
# | classic, no id: killed and started at once: 3 records
# | consumer, static: killed and started at once: _FATAL, Broker: The instance ID is still used by another member in the consumer group
# | consumer, static: started again after the session: 3 records
# | consumer, no id: killed and started at once: 3 records
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

cat >"$work/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>look</groupId><artifactId>look</artifactId>
<version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>4.4.0</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
XML
{ command -v mvn && command -v java &&
  run mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars" &&
  run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check confluent-kafka==2.16.1; } >/dev/null || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

read -r port control < <(python3 -c '
import socket
both = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in both))')
printf '%s\n' process.roles=broker,controller node.id=1 "controller.quorum.voters=1@127.0.0.1:$control" \
  "listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$control" controller.listener.names=CONTROLLER \
  "log.dirs=$work/data" offsets.topic.num.partitions=1 offsets.topic.replication.factor=1 \
  group.initial.rebalance.delay.ms=0 group.consumer.session.timeout.ms=10000 group.consumer.min.session.timeout.ms=10000 >"$work/server.properties"
kafka() { exec java -Xmx512m -cp "$work/jars/*" "$@" >>"$work/broker.log" 2>&1; }
start() {
  kafka kafka.Kafka "$work/server.properties" &
  broker=$!
  for _ in {1..240}; do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
    run sleep 0.5
  done
  echo "the broker did not start: $(tail -n 5 "$work/broker.log")" >&2
  exit 3
}
run kafka kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAA -c "$work/server.properties"
start

cat >"$work/member.py" <<'PY'
import sys
from confluent_kafka import Consumer, KafkaError
consumer = Consumer(dict(one.split("=") for one in sys.argv[1:]))
consumer.subscribe(["t"])
records = 0
while True:
    message = consumer.poll(0.2)
    records += bool(message and not message.error())
    if message and message.error() and message.error().code() == KafkaError._FATAL:
        print("_FATAL,", message.error().str().split("error: ")[-1], flush=True)
    elif message and records == 3:
        print(records, "records", flush=True)
PY
cat >"$work/look.py" <<'PY'
import subprocess, sys, threading, time
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
work, port = sys.argv[1:]
server = {"bootstrap.servers": f"127.0.0.1:{port}"}
admin, producer = AdminClient(server), Producer(server)
admin.create_topics([NewTopic("t", 1, 1)])["t"].result()
for n in range(3):
    producer.produce("t", str(n))
assert producer.flush(30) == 0

def life(settings):
    """The first line of one process of the group, which is killed a second later."""
    process = subprocess.Popen([sys.executable, f"{work}/member.py", *(f"{name}={value}" for name, value in settings.items())],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    limit = threading.Timer(90, process.kill)
    limit.start()
    line = process.stdout.readline().strip()
    time.sleep(1)
    process.kill()
    process.wait()
    limit.cancel()
    return line

for protocol in "classic", "consumer":
    for kind, identity in ("static", {"group.instance.id": "me"}), ("no id", {}):
        settings = server | identity | {"group.id": f"{protocol}-{kind}", "group.protocol": protocol,
                                        "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
        assert life(settings) == "3 records"
        line = life(settings)
        print(f"{protocol}, {kind}: killed and started at once: {line}", flush=True)
        if line != "3 records":
            time.sleep(15)
            print(f"{protocol}, {kind}: started again after the session: {life(settings)}", flush=True)
PY
run "$work/venv/bin/python" "$work/look.py" "$work" "$port" >"$work/seen" || exit 3 # the program failed, which says nothing about the behaviour
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
