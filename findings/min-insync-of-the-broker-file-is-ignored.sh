#!/usr/bin/env bash
# Apache Kafka 4.4.0 (Maven: org.apache.kafka:kafka_2.13:4.4.0; a controller and two brokers on 127.0.0.1), confluent-kafka 2.16.1
# (PyPI, librdkafka 2.16.0), Java 17, 28 November 2026
#
# One would guess: min.insync.replicas=2 in server.properties of every broker is the default of all topics, as it was for a decade.
# What happens: in a cluster whose controllers are nodes of their own it is not. With eligible leader replicas (KIP-966, on in every
# newly formatted cluster) the ACTIVE CONTROLLER writes its own value, here the default 1, into the metadata as the cluster-wide
# dynamic default, when it first becomes active, and that wins over the brokers' files. So with one of two replicas down a producer
# with acks=all is still acknowledged, by the leader alone. Nothing is logged; only --describe --all names both values. Formatted
# without that feature, the same files keep the promise. And as the value is a dynamic one, later changes of the file, also of the
# controller's, do nothing. It hurts whoever keeps the setting where it always was: set it on the topic, or with kafka-configs.
#
# Output seen:
# | brokers' files: min.insync.replicas=2; controller's file: nothing; topic with two replicas, one of them down
# | eligible leader replicas on (default): in force: 1; acks=all: acknowledged
# | eligible leader replicas off: in force: 2; acks=all: NOT_ENOUGH_REPLICAS
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

kafka() { exec java -Xmx300m -XX:+UseSerialGC -cp "$work/jars/*" "$@" >>"$work/kafka.log" 2>&1; }
cluster() { # what is formatted in addition
  read -r control one two < <(python3 -c '
import socket
all = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(one.getsockname()[1] for one in all))')
  nodes=()
  for node in 1 2 3; do
    ports=(- "$control" "$one" "$two")
    cat >"$work/$node.properties" <<END
node.id=$node
controller.quorum.voters=1@127.0.0.1:$control
controller.listener.names=CONTROLLER
log.dirs=$work/$control/$node
broker.session.timeout.ms=60000
$([ "$node" = 1 ] && echo "process.roles=controller
listeners=CONTROLLER://127.0.0.1:$control" || echo "process.roles=broker
listeners=PLAINTEXT://127.0.0.1:${ports[node]}
min.insync.replicas=2")
END
    run kafka kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAA -c "$work/$node.properties" "$@"
    kafka kafka.Kafka "$work/$node.properties" &
    nodes+=("$!")
  done
  for port in "$one" "$two"; do
    for try in {1..241}; do
      if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
      run sleep 0.5
    done
    [ "$try" != 241 ] || { echo "a broker did not start: $(tail -n 5 "$work/kafka.log")" >&2; exit 3; }
  done
}

cat >"$work/look.py" <<'PY'
import os, signal, sys, time
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
name, port, follower = sys.argv[1:]
server = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
admin = AdminClient(server)
def until(condition):
    end = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)
def isr():
    try:
        return admin.list_topics("t", timeout=10).topics["t"].partitions[0].isrs
    except (KafkaException, KeyError): # not known to this broker yet, or a broker that ends was asked
        return []
until(lambda: len(admin.list_topics(timeout=30).brokers) == 2)
admin.create_topics([NewTopic("t", 1, replica_assignment=[[2, 3]])])["t"].result()
until(lambda: sorted(isr()) == [2, 3])
os.kill(int(follower), signal.SIGTERM)
until(lambda: isr() == [2])
topic = ConfigResource("topic", "t")
value = admin.describe_configs([topic])[topic].result()["min.insync.replicas"].value
answers = []
producer = Producer(server | {"acks": "all", "retries": 0})
producer.produce("t", "x", on_delivery=lambda error, _: answers.append(error.name() if error else "acknowledged"))
producer.flush(60)
print(f"eligible leader replicas {name}: in force: {value}; acks=all: {answers[0]}")
PY
echo "brokers' files: min.insync.replicas=2; controller's file: nothing; topic with two replicas, one of them down" >"$work/seen"
look() {
  run "$work/venv/bin/python" "$work/look.py" "$1" "$one" "${nodes[2]}" >>"$work/seen" || exit 3 # says nothing about the behaviour
  for node in "${nodes[@]}"; do kill -KILL -- "-$node" 2>/dev/null || true; done
}
cluster
look "on (default)"
cluster --feature eligible.leader.replicas.version=0
look off
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
