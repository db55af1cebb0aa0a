#!/usr/bin/env bash
# confluent-kafka 2.16.1 (PyPI, librdkafka 2.16.0), against Apache Kafka 4.4.0 (Maven: org.apache.kafka:kafka_2.13:4.4.0, one broker
# on 127.0.0.1), Java 17, 28 November 2026
#
# One would guess: the same subscription means the same topics whichever group protocol carries it, or is refused.
# What happens: with group.protocol=classic librdkafka itself looks for the pattern anywhere in a topic's name, so "^orders-" takes
# orders-eu and orders-us. With group.protocol=consumer (KIP-848) the broker matches it (RE2/J), and there a pattern must match the
# WHOLE name: "^orders-" takes no topic at all. Nothing is refused: the member joins, gets an empty assignment, poll() returns
# nothing and reports no error, and the lag of the group is that of a group that has never committed. With "^orders-.*" both
# protocols read both topics. It hurts whoever changes that one setting: a service that used to read stops to, and looks idle.
#
# Output seen:
# | topics orders-eu and orders-us hold 5 records each
# | classic, ^orders-: 10 records, partitions of 2 topics, 0 errors
# | consumer, ^orders-: 0 records, partitions of 0 topics, 0 errors
# | classic, ^orders-.*: 10 records, partitions of 2 topics, 0 errors
# | consumer, ^orders-.*: 10 records, partitions of 2 topics, 0 errors
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
  group.initial.rebalance.delay.ms=0 >"$work/server.properties"
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

cat >"$work/look.py" <<'PY'
import sys, time
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
server = {"bootstrap.servers": f"127.0.0.1:{sys.argv[2]}"}
topics = ["orders-eu", "orders-us"]
admin, producer = AdminClient(server), Producer(server)
for created in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
    created.result()
for topic in topics:
    for n in range(5):
        producer.produce(topic, str(n))
assert producer.flush(30) == 0
print("topics", " and ".join(topics), "hold 5 records each")
for pattern in "^orders-", "^orders-.*":
    for protocol in "classic", "consumer":
        errors = []
        consumer = Consumer(server | {"group.id": f"{protocol}-{len(pattern)}", "group.protocol": protocol,
                                      "auto.offset.reset": "earliest", "error_cb": errors.append})
        consumer.subscribe([pattern])
        records, assigned, until = 0, set(), time.monotonic() + 20
        while time.monotonic() < until and records < 10:
            message = consumer.poll(0.2)
            if message and message.error():
                errors.append(message.error())
            records += bool(message and not message.error())
            assigned |= {one.topic for one in consumer.assignment()}
        consumer.close()
        print(f"{protocol}, {pattern}: {records} records, partitions of {len(assigned)} topics, {len(errors)} errors")
PY
run "$work/venv/bin/python" "$work/look.py" "$work" "$port" >"$work/seen" || exit 3 # the program failed, which says nothing about the behaviour
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
