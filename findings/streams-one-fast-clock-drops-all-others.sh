#!/usr/bin/env bash
# Apache Kafka Streams 4.4.0 (Maven: org.apache.kafka:kafka-streams:4.4.0, and its kafka-streams-test-utils to run the topology without
# a broker), Java 17, 28 November 2026
#
# One would guess: a record whose producer has a clock that is 55 minutes fast falls into a window of its own, and the counts of all
# other keys stay as they are.
# What happens: time in Streams is the highest timestamp that a task has seen, of ANY key. After that one record every record with a
# right clock is "late": beyond the grace period it is dropped, for all keys of the partition, until the true time has caught up, here
# for 49 minutes. Nothing is raised and the offsets are committed; only the metric dropped-records-total counts (and a WARN each).
# The broker does not help: message.timestamp.after.max.ms lets through what is up to an hour ahead. A handler for exceptions is not
# called. It hurts every windowed count, sum or join with one producer whose clock is wrong, and looks like lost records.
#
# Output seen:
# | 100 records of four keys, windows of 1 minute, grace of 5 minutes: counted 100, dropped 0
# | the same, and after 50 of them one record of a fifth key from a clock 55 minutes fast: counted 50, dropped 50
# | the same, and that clock is 4 minutes fast: counted 100, dropped 0
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
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-streams</artifactId><version>4.4.0</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-streams-test-utils</artifactId><version>4.4.0</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
XML
{ command -v mvn && command -v java &&
  run mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"; } >/dev/null || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/Look.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
class Look {
  static String counted(String folder, int minutesFast) {
    var builder = new StreamsBuilder();
    builder.stream("in", Consumed.with(Serdes.String(), Serdes.String())).groupByKey()
        .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ofMinutes(5))).count().toStream()
        .map((window, count) -> KeyValue.pair(window.key() + "@" + window.window().start(), count))
        .to("out", Produced.with(Serdes.String(), Serdes.Long()));
    var settings = new Properties();
    settings.putAll(Map.of("application.id", "a", "bootstrap.servers", "none:1", "state.dir", folder));
    long start = 1_700_000_040_000L;
    try (var driver = new TopologyTestDriver(builder.build(), settings)) {
      var in = driver.createInputTopic("in", new StringSerializer(), new StringSerializer());
      var out = driver.createOutputTopic("out", new StringDeserializer(), new LongDeserializer());
      for (int n = 0; n < 100; n++) {
        if (n == 50 && minutesFast > 0) in.pipeInput("fifth", "", start + n * 1000 + minutesFast * 60_000);
        in.pipeInput("key" + n % 4, "", start + n * 1000);
      }
      long sum = 0;
      for (var last : out.readKeyValuesToMap().entrySet()) if (last.getKey().startsWith("key")) sum += last.getValue();
      double dropped = 0;
      for (var metric : driver.metrics().entrySet())
        if (metric.getKey().name().equals("dropped-records-total")) dropped += (double) metric.getValue().metricValue();
      return "counted " + sum + ", dropped " + (long) dropped;
    }
  }
  public static void main(String[] folder) {
    System.out.println("100 records of four keys, windows of 1 minute, grace of 5 minutes: " + counted(folder[0], 0));
    System.out.println("the same, and after 50 of them one record of a fifth key from a clock 55 minutes fast: " + counted(folder[0], 55));
    System.out.println("the same, and that clock is 4 minutes fast: " + counted(folder[0], 4));
  }
}
JAVA
run java -Xmx256m -Dorg.slf4j.simpleLogger.defaultLogLevel=off -cp "$work/jars/*" "$work/Look.java" "$work/state" >"$work/seen" || exit 3 # the program failed, which says nothing about the behaviour
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
