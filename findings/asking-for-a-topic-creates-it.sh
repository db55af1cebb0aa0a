#!/usr/bin/env bash
# confluent-kafka 2.16.1 with librdkafka 2.16.0 (PyPI) and its own mock cluster, Python 3.11, 28 November 2026
#
# One would guess: AdminClient.list_topics("orders") only looks whether there is such a topic, like a consumer's call of that name.
# What happens: asked by a Consumer, the cluster has no such topic, and keeps none. Asked by an AdminClient or a Producer, it CREATES the topic,
# with the broker's defaults for partitions and replicas, if the broker has auto.create.topics.enable, as it has by default; and the answer has
# no error (tried by hand on a broker of Kafka 4.4.0: the first answer still has one, the second has not). So a check "does it exist?" with a
# misspelt name finds its own topic and says yes, a wait for a deletion brings back what was deleted, and a topic that should have 12
# partitions and three replicas has the defaults. list_topics() of all topics creates nothing. allow.auto.create.topics=false, a setting that
# is documented for consumers only, keeps the AdminClient from it, too.
# Whom it hurts: readiness probes, tests and deployment scripts; Java's Admin.describeTopics does not create topics.
#
# Output seen:
# | Consumer.list_topics('asked-by-consumer'): UNKNOWN_TOPIC_OR_PART, 0 partitions; topics then: none
# | AdminClient.list_topics(): topics then: none
# | AdminClient with allow.auto.create.topics=false .list_topics('asked-with-setting'): UNKNOWN_TOPIC_OR_PART, 0 partitions; topics then: none
# | AdminClient.list_topics('asked-by-admin'): no error, 4 partitions; topics then: asked-by-admin
# | Producer.list_topics('asked-by-producer'): no error, 4 partitions; topics then: asked-by-admin, asked-by-producer
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
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
[broker] = cluster.list_topics(timeout=30).brokers.values()
COMMON = {"bootstrap.servers": f"{broker.host}:{broker.port}", "log_level": 0}


def topics():
    return "topics then: " + (", ".join(sorted(AdminClient(COMMON).list_topics(timeout=30).topics)) or "none")


def ask(words, client, topic):
    told = client.list_topics(topic, timeout=30).topics[topic]
    error = told.error.name() if told.error else "no error"
    print(f"{words}.list_topics({topic!r}): {error}, {len(told.partitions)} partitions; {topics()}")


ask("Consumer", Consumer({**COMMON, "group.id": "g"}), "asked-by-consumer")
print(f"AdminClient.list_topics(): {topics()}")
careful = AdminClient({**COMMON, "allow.auto.create.topics": False})
ask("AdminClient with allow.auto.create.topics=false ", careful, "asked-with-setting")
ask("AdminClient", AdminClient(COMMON), "asked-by-admin")
ask("Producer", Producer(COMMON), "asked-by-producer")
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
