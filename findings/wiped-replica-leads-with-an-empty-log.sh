#!/usr/bin/env bash
# Apache Kafka 4.4.0 (Maven: org.apache.kafka:kafka_2.13:4.4.0; a controller and a broker on 127.0.0.1), confluent-kafka 2.16.1 (PyPI,
# librdkafka 2.16.0), Java 17, 28 November 2026
#
# One would guess: a broker that comes back with an empty disk, formatted anew, is not allowed to lead the partitions whose only replica
# it had, as unclean.leader.election.enable is false: they stay without a leader until somebody agrees to the loss.
# What happens: the controller knows that the disk is another one (it has a new directory id, KIP-858), and makes the broker the leader
# again all the same, as the last known one (KIP-966), with a log that begins at 0. The topic is there with its id, its leader and
# a full ISR; nothing is reported, and the next write is acknowledged at offset 0. What had been acknowledged is gone, and groups
# stand at offsets that the new records have yet to reach. It hurts whoever replaces a disk, or runs containers without a volume,
# with topics of one replica: nothing asks, and no monitor of leaders and replicas turns red.
#
# Output seen:
# | unclean.leader.election.enable=false, topic with one replica: 100 of 100 records acknowledged with acks=all
# | killed and started again: same topic id True, leader 2, ISR [2], records 0 to 100
# | killed, disk wiped, formatted and started again: same topic id True, leader 2, ISR [2], records 0 to 0
# | the next record is acknowledged at offset 0
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
for role in controller broker; do
  printf '%s\n' "process.roles=$role" "controller.quorum.voters=1@127.0.0.1:$control" controller.listener.names=CONTROLLER \
    "log.dirs=$work/$role" unclean.leader.election.enable=false >"$work/$role.properties"
done
printf '%s\n' node.id=1 "listeners=CONTROLLER://127.0.0.1:$control" >>"$work/controller.properties"
printf '%s\n' node.id=2 "listeners=PLAINTEXT://127.0.0.1:$port" >>"$work/broker.properties"
kafka() { exec java -Xmx400m -XX:+UseSerialGC -cp "$work/jars/*" "$@" >>"$work/kafka.log" 2>&1; }
format() { run kafka kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAA -c "$work/$1.properties"; }
start() {
  kafka kafka.Kafka "$work/broker.properties" &
  broker=$!
  for _ in {1..240}; do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
    run sleep 0.5
  done
  echo "the broker did not start: $(tail -n 5 "$work/kafka.log")" >&2
  exit 3
}
stop() {
  kill -KILL "$broker"
  wait "$broker" 2>/dev/null || true
}

cat >"$work/look.py" <<'PY'
import pathlib, sys, time
from confluent_kafka import Consumer, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
work, port, step = sys.argv[1:]
server = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
admin, producer, offsets = AdminClient(server), Producer(server | {"acks": "all"}), []
def write(count):
    for n in range(count):
        producer.produce("t", str(n), on_delivery=lambda error, message: error or offsets.append(message.offset()))
    assert producer.flush(120) == 0
def topic():
    return admin.describe_topics(TopicCollection(["t"]))["t"].result()
if step == "write":
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result()
    write(100)
    pathlib.Path(work, "id").write_text(str(topic().topic_id))
    print(f"unclean.leader.election.enable=false, topic with one replica: {len(offsets)} of 100 records acknowledged with acks=all")
elif step == "write one":
    write(1)
    print("the next record is acknowledged at offset", *offsets)
else:
    until = time.monotonic() + 120
    while (partition := topic().partitions[0]).leader is None or partition.leader.id < 0:
        assert time.monotonic() < until
        time.sleep(0.5)
    low, high = Consumer(server | {"group.id": "look"}).get_watermark_offsets(TopicPartition("t", 0), timeout=60)
    same = str(topic().topic_id) == pathlib.Path(work, "id").read_text()
    print(f"{step}: same topic id {same}, leader {partition.leader.id}, ISR {[one.id for one in partition.isr]}, records {low} to {high}")
PY
look() { run "$work/venv/bin/python" "$work/look.py" "$work" "$port" "$1" >>"$work/seen" || exit 3; } # 3: no word about the behaviour
format controller
format broker
kafka kafka.Kafka "$work/controller.properties" &
start
look write
stop
start
look "killed and started again"
stop
rm -rf "$work/broker"
format broker
start
look "killed, disk wiped, formatted and started again"
look "write one"
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
