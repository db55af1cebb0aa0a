#!/usr/bin/env bash
# Apache Kafka 4.4.0 (broker and Java client; Maven: org.apache.kafka:kafka_2.13:4.4.0), confluent-kafka 2.16.1 (PyPI, librdkafka
# 2.16.0), Java 17, 28 November 2026
#
# One would guess: offsets.retention.minutes (7 days; 1 minute here) is for groups that are gone; a process that runs, polls and
# commits automatically keeps its offset, however quiet its topic is.
# What happens: that holds for members, which subscribe. For a reader that takes its partitions itself (assign()) the group has no
# member, and the time counts from the last commit (KIP-211). librdkafka commits automatically only what has changed, so on a
# quiet topic its offset is deleted under the living process, which notices nothing. If it is killed then, the next one begins where
# auto.offset.reset says: it reads all again, or, with "latest", passes over what was written while it was away. (An orderly close()
# commits once more, which hides it.) The Java client commits its position every five seconds, changed or not, and keeps it. It
# hurts readers of quiet topics that assign, as frameworks do which distribute partitions themselves: a week after the last record,
# whether a crash loses records hangs on the client's language.
#
# Output seen:
# | committed at first: librdkafka, assign: 10; librdkafka, subscribe: 10; Java, assign: 10
# | a quiet time later, the readers still run: librdkafka, assign: none; librdkafka, subscribe: 10; Java, assign: 10
# | killed, 5 records written, started with latest, read: librdkafka, assign: 0; librdkafka, subscribe: 5; Java, assign: 5
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
  group.initial.rebalance.delay.ms=0 offsets.retention.minutes=1 offsets.retention.check.interval.ms=1000 >"$work/server.properties"
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

cat >"$work/Reader.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
class Reader {
  public static void main(String[] args) {
    Map<String, Object> settings = Map.of("bootstrap.servers", args[0], "auto.offset.reset", args[1], "group.id", args[2]);
    var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    consumer.assign(List.of(new TopicPartition("t", 0)));
    while (true) // by default it commits automatically
      for (var one : consumer.poll(Duration.ofMillis(200))) System.out.println(one.value());
  }
}
JAVA
cat >"$work/reader.py" <<'PY'
import sys
from confluent_kafka import Consumer, TopicPartition
server, reset, group = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": server, "auto.offset.reset": reset, "group.id": group, "session.timeout.ms": 6000})
consumer.subscribe(["t"]) if group == "subscribe" else consumer.assign([TopicPartition("t", 0)])
while True:
    message = consumer.poll(0.2)
    if message and not message.error():
        print(message.value(), flush=True)
PY
cat >"$work/look.py" <<'PY'
import atexit, pathlib, subprocess, sys, time
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
work, port = sys.argv[1:]
server = {"bootstrap.servers": f"127.0.0.1:{port}"}
admin, producer = AdminClient(server), Producer(server)
admin.create_topics([NewTopic("t", 1, 1)])["t"].result()
PYTHON = [sys.executable, f"{work}/reader.py"]
JAVA = ["java", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{work}/jars/*", f"{work}/Reader.java"]
KINDS = {"assign": ("librdkafka, assign", PYTHON), "subscribe": ("librdkafka, subscribe", PYTHON), "java": ("Java, assign", JAVA)}

def write(count):
    for n in range(count):
        producer.produce("t", str(n))
    assert producer.flush(60) == 0

def committed(group):
    asking = Consumer(server | {"group.id": group, "enable.auto.commit": False})
    try:
        offset = asking.committed([TopicPartition("t", 0)], timeout=30)[0].offset
        return "none" if offset < 0 else offset
    except KafkaException: # for example while the coordinator is loading
        return "unknown"
    finally:
        asking.close()

def run(reset):
    started = [subprocess.Popen([*program, server["bootstrap.servers"], reset, group], stdout=pathlib.Path(work, f"{group}-{reset}").open("w"))
               for group, (_, program) in KINDS.items()]
    for one in started:
        atexit.register(one.kill)
    return started

def told(of):
    return "; ".join(f"{name}: {of(group)}" for group, (name, _) in KINDS.items())

write(10)
readers, until = run("earliest"), time.monotonic() + 180
while time.monotonic() < until and any(committed(group) != 10 for group in KINDS):
    time.sleep(1)
print("committed at first:", told(committed))
time.sleep(90)
assert all(one.poll() is None for one in readers)
print("a quiet time later, the readers still run:", told(committed))
for one in readers:
    one.kill()
    one.wait()
write(5)
run("latest")
time.sleep(45)
print("killed, 5 records written, started with latest, read:", told(lambda group: len(pathlib.Path(work, f"{group}-latest").read_text().split())))
PY
run "$work/venv/bin/python" "$work/look.py" "$work" "$port" >"$work/seen" || exit 3 # the program failed, which says nothing about the behaviour
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
