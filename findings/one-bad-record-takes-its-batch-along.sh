#!/usr/bin/env bash
# Apache Kafka 4.4.0 (broker and Java client; Maven: org.apache.kafka:kafka_2.13:4.4.0, one broker on 127.0.0.1), confluent-kafka 2.16.1
# (PyPI, librdkafka 2.16.0), Java 17, 28 November 2026
#
# One would guess: a record that the broker refuses for what it is, here one without a key on a compacted topic, is refused alone; the 99
# good records that were sent beside it are written.
# What happens: the broker takes or refuses batches. One such record has all 100 refused, and as clients make batches of what is sent
# at about the same time, the 99 may come from other threads, users or requests. Neither client sends the good ones again by itself:
# the Java client gives them a bare KafkaException ("was part of a batch which had ... invalid records", KIP-467), which is not
# retriable; librdkafka gives all 100 the code INVALID_RECORD, so nothing tells the innocent ones from the guilty. Sent one by one,
# 99 are written. It hurts programs that log and drop what "the broker says is invalid": how many good records are lost hangs on
# linger.ms and load. A timestamp too far from the broker's clock (message.timestamp.after.max.ms) does the same.
#
# Output seen:
# | librdkafka, in one batch: 100 INVALID_RECORD; in the log: 0
# | librdkafka, one by one: 99 written, 1 INVALID_RECORD; in the log: 99
# | librdkafka, one timestamp 2 hours ahead, in one batch: 100 INVALID_TIMESTAMP; in the log: 0
# | Java, in one batch: 1 InvalidRecordException, 99 KafkaException; in the log: 0
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

cat >"$work/Send.java" <<'JAVA'
import java.util.*;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;
class Send {
  public static void main(String[] port) {
    var answers = new ConcurrentSkipListMap<String, Integer>();
    Map<String, Object> settings = Map.of("bootstrap.servers", "127.0.0.1:" + port[0], "linger.ms", 2000);
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      producer.partitionsFor("java");
      for (int n = 0; n < 100; n++)
        producer.send(new ProducerRecord<>("java", n == 50 ? null : "key" + n, "v"),
            (at, e) -> answers.merge(e == null ? "written" : e.getClass().getSimpleName(), 1, Integer::sum));
    }
    List<String> parts = new ArrayList<>();
    answers.forEach((answer, count) -> parts.add(count + " " + answer));
    System.out.println("Java, in one batch: " + String.join(", ", parts) + "; in the log: ");
  }
}
JAVA
cat >"$work/look.py" <<'PY'
import subprocess, sys, time
from collections import Counter
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
work, port = sys.argv[1:]
server = {"bootstrap.servers": f"127.0.0.1:{port}"}
admin, reader = AdminClient(server), Consumer(server | {"group.id": "look"})

def topic(name, **config):
    admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result()
    return name

def in_log(name):
    return reader.get_watermark_offsets(TopicPartition(name, 0), timeout=30)[1]

def send(name, one_by_one=False, bad_key=True, bad_time=False):
    answers, now = Counter(), int(time.time() * 1000)
    producer = Producer(server | {"linger.ms": 2000})
    producer.list_topics(name, timeout=30)
    for n in range(100):
        producer.produce(name, "v", None if bad_key and n == 50 else f"key{n}", timestamp=now + 7_200_000 * (bad_time and n == 50),
                         on_delivery=lambda error, _: answers.update([error.name() if error else "written"]))
        if one_by_one:
            producer.flush(30)
    assert producer.flush(60) == 0
    return f"{', '.join(f'{count} {answer}' for answer, count in sorted(answers.items(), key=lambda one: -one[1]))}; in the log: {in_log(name)}"

compact = {"cleanup.policy": "compact"}
print("librdkafka, in one batch:", send(topic("batch", **compact)))
print("librdkafka, one by one:", send(topic("single", **compact), one_by_one=True))
print("librdkafka, one timestamp 2 hours ahead, in one batch:", send(topic("time"), bad_key=False, bad_time=True))
topic("java", **compact)
said = subprocess.run(["java", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{work}/jars/*", f"{work}/Send.java", port],
                      stdout=subprocess.PIPE, text=True, check=True, timeout=180).stdout
print(said.rstrip("\n") + str(in_log("java")))
PY
run "$work/venv/bin/python" "$work/look.py" "$work" "$port" >"$work/seen" || exit 3 # the program failed, which says nothing about the behaviour
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
