#!/usr/bin/env bash
# Apache Kafka 4.4.0 (broker and Java client; Maven: org.apache.kafka:kafka_2.13:4.4.0, one broker on 127.0.0.1), confluent-kafka 2.16.1
# (PyPI, librdkafka 2.16.0), Java 17, 28 November 2026
#
# One would guess: each batch has a checksum (CRC-32C), so a record whose bytes have changed on the disk is noticed: by the broker when it
# starts or answers, at the latest by the consumer.
# What happens: a broker that was stopped in good order checks no checksum, neither at its next start nor when it answers a fetch: it
# sends the bytes as they lie in the file. The Java client checks (check.crcs=true) and raises. librdkafka does not by default
# (check.crcs=false): it hands out the changed value as an ordinary record, without an error. With
# check.crcs=true it reports _BAD_MSG. It hurts everybody who counts on Kafka to notice bit rot: which of two consumers of one topic
# gets the wrong value is decided by the library that it is written with.
#
# Output seen:
# | written: amount=100; one byte of the file changed while the broker is stopped, broker started again
# | librdkafka, default: amount=900, no error
# | librdkafka, check.crcs=true: no record, _BAD_MSG
# | Java, default: no record, KafkaException
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

cat >"$work/Read.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.*;
import org.apache.kafka.common.serialization.StringDeserializer;
class Read {
  public static void main(String[] port) {
    var settings = Map.<String, Object>of("bootstrap.servers", "127.0.0.1:" + port[0], "auto.offset.reset", "earliest", "group.id", "java");
    var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    consumer.assign(List.of(new TopicPartition("t", 0)));
    String seen = "nothing";
    try {
      for (int n = 0; n < 300 && seen.equals("nothing"); n++)
        for (var one : consumer.poll(Duration.ofMillis(100))) seen = one.value() + ", no error";
    } catch (KafkaException e) {
      seen = "no record, " + e.getClass().getSimpleName();
    }
    System.out.println("Java, default: " + seen);
  }
}
JAVA
cat >"$work/look.py" <<'PY'
import pathlib, sys, time
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
work, port, step = sys.argv[1:]
server = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
if step == "write":
    admin, producer = AdminClient(server), Producer(server)
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result()
    producer.produce("t", "amount=100")
    assert producer.flush(60) == 0
elif step == "change":
    file = pathlib.Path(work, "data", "t-0", "00000000000000000000.log")
    data = file.read_bytes()
    assert data.count(b"amount=1") == 1
    file.write_bytes(data.replace(b"amount=1", b"amount=9"))
    print("written: amount=100; one byte of the file changed while the broker is stopped, broker started again")
else:
    for name, settings in ("default", {}), ("check.crcs=true", {"check.crcs": True}):
        consumer = Consumer(server | settings | {"group.id": name})
        consumer.assign([TopicPartition("t", 0, 0)])
        until, message = time.monotonic() + 60, None
        while not message and time.monotonic() < until:
            message = consumer.poll(0.2)
        print(f"librdkafka, {name}:", f"no record, {message.error().name()}" if message.error() else f"{message.value().decode()}, no error")
        consumer.close()
PY
look() { run "$@" >>"$work/seen" || exit 3; } # if the program fails, that says nothing about the behaviour
look "$work/venv/bin/python" "$work/look.py" "$work" "$port" write
kill -TERM "$broker"
wait "$broker" || true
look "$work/venv/bin/python" "$work/look.py" "$work" "$port" change
start
look "$work/venv/bin/python" "$work/look.py" "$work" "$port" read
look java -Xmx256m -Dorg.slf4j.simpleLogger.defaultLogLevel=off -cp "$work/jars/*" "$work/Read.java" "$port"
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
