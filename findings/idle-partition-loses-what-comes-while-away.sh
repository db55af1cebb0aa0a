#!/usr/bin/env bash
# confluent-kafka 2.16.1 (PyPI, librdkafka 2.16.0) and the Java client 4.4.0, against Apache Kafka 4.4.0 (Maven:
# org.apache.kafka:kafka_2.13:4.4.0, one broker on 127.0.0.1), Java 17, 28 November 2026
#
# One would guess: auto.offset.reset=latest is about the first start of a group. A member that has run, with automatic commits, and was
# closed in good order goes on where it stood, also in a partition that was empty or quiet while it ran.
# What happens: so does the Java client: it commits its position in every partition, read or not. librdkafka commits only what it has
# handed out. A partition from which this group has never got a record has no committed offset, so the next process begins at the
# end AGAIN, and what was written in between (a deployment of a minute is enough) is read by nobody. No error, and the group's lag
# is unknown before and 0 afterwards. A single record that was read before makes the difference. So it is for both group protocols.
# It hurts groups that start at the end on topics with quiet or new partitions (after partitions were added, for example), and
# whoever concludes from the Java client to the others.
#
# Output seen:
# | a member runs and is closed, 10 records are written, a member starts; read of these:
# | Java, partition was empty: classic 10, consumer 10
# | librdkafka, partition was empty: classic 0, consumer 0
# | librdkafka, one record read before: classic 10, consumer 10
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

cat >"$work/Member.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;
class Member {
  public static void main(String[] args) throws Exception { // topic, settings; prints "ready", and at the end of stdin what it has read
    Map<String, Object> settings = new HashMap<>();
    for (String one : args[1].split(",")) settings.put(one.split("=")[0], one.split("=")[1]);
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(args[0]));
      int records = 0;
      while (consumer.assignment().isEmpty()) records += consumer.poll(Duration.ofMillis(100)).count();
      for (var one : consumer.assignment()) consumer.position(one);
      System.out.println("ready");
      while (System.in.available() == 0) records += consumer.poll(Duration.ofMillis(100)).count();
      System.out.println(records);
    }
  }
}
JAVA
cat >"$work/member.py" <<'PY'
import select, sys
from confluent_kafka import Consumer
consumer = Consumer(dict(one.split("=") for one in sys.argv[2].split(",")))
consumer.subscribe([sys.argv[1]])
records = idle = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    message = consumer.poll(0.1)
    records += bool(message and not message.error())
    idle += bool(consumer.assignment())
    if idle == 20:
        print("ready", flush=True)
print(records, flush=True)
consumer.close()
PY
cat >"$work/look.py" <<'PY'
import atexit, subprocess, sys, time
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
work, port = sys.argv[1:]
server = {"bootstrap.servers": f"127.0.0.1:{port}"}
admin, producer = AdminClient(server), Producer(server)
JAVA = ["java", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{work}/jars/*", f"{work}/Member.java"]

def write(topic, count):
    for n in range(count):
        producer.produce(topic, str(n))
    assert producer.flush(60) == 0

def life(program, protocol, topic, records):
    """What a member reads, which is closed in good order 8 s after it was ready and the records were written."""
    settings = server | {"group.id": topic, "group.protocol": protocol, "auto.offset.reset": "latest"}
    process = subprocess.Popen([*program, topic, ",".join(f"{name}={value}" for name, value in settings.items())],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    assert process.stdout.readline() == "ready\n"
    write(topic, records)
    time.sleep(8)
    return process.communicate("end\n", timeout=120)[0].strip()

print("a member runs and is closed, 10 records are written, a member starts; read of these:")
for client, program, before in ("Java", JAVA, 0), ("librdkafka", [sys.executable, f"{work}/member.py"], 0), \
                               ("librdkafka", [sys.executable, f"{work}/member.py"], 1):
    counts = []
    for protocol in "classic", "consumer":
        topic = f"{client}-{before}-{protocol}"
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
        assert life(program, protocol, topic, before) == str(before)
        write(topic, 10)
        counts.append(f"{protocol} {life(program, protocol, topic, 0)}")
    print(f"{client}, {'one record read before' if before else 'partition was empty'}: {', '.join(counts)}", flush=True)
PY
run "$work/venv/bin/python" "$work/look.py" "$work" "$port" >"$work/seen" || exit 3 # the program failed, which says nothing about the behaviour
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
