#!/usr/bin/env bash
# Apache Kafka Connect's JsonConverter, org.apache.kafka:connect-json:4.4.0 (Maven), Java 17, 28 November 2026
#
# One would guess: what the JsonConverter has written, with schemas.enable=true as by default, it reads back as it was; and a value
# that does not fit the schema beside it is refused with a DataException, as a missing one is.
# What happens: NaN and the infinities are written as texts ("NaN"), and read back as 0.0, by the same converter under the same
# schema. So a source connector of measurements and a sink connector in front of a database agree on zeros that nobody measured.
# And a payload of another type than its schema says is not refused: a text becomes 0 or false, a number becomes null where the
# schema says a text that must not be missing, a fraction is cut off, and a number that is too large keeps its lowest bits. No error
# is raised, so errors.tolerance and dead letter queues see nothing. It hurts pipelines with floating point numbers, and all whose
# JSON is written by another program than Connect, which counts on a wrong type being noticed.
#
# Output seen:
# | double, written by the converter and read by it: 1.5 -> 1.5; NaN -> 0.0; Infinity -> 0.0; -Infinity -> 0.0
# | payload of another program, and what is read: int32 "12" -> 0; boolean "true" -> false; string 12 -> null; int32 1.9 -> 1;
# |   int32 5000000000 -> 705032704; int8 300 -> 44; double "1.5" -> 0.0
# | control: int32 null -> DataException: Invalid null value for required INT32 field
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
<dependency><groupId>org.apache.kafka</groupId><artifactId>connect-json</artifactId><version>4.4.0</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
XML
{ command -v mvn && command -v java &&
  run mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"; } >/dev/null || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/Look.java" <<'JAVA'
import java.util.*;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;
class Look {
  static final JsonConverter converter = new JsonConverter();
  static String read(String type, String payload) {
    String json = "{\"schema\": {\"type\": \"" + type + "\", \"optional\": false}, \"payload\": " + payload + "}";
    String value;
    try {
      value = String.valueOf(converter.toConnectData("t", json.getBytes()).value());
    } catch (DataException e) {
      value = "DataException: " + e.getMessage();
    }
    return type + " " + payload + " -> " + value;
  }
  public static void main(String[] none) {
    converter.configure(Map.of(), false); // a converter of values, all settings as by default
    List<String> doubles = new ArrayList<>();
    for (double one : new double[] {1.5, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
      byte[] written = converter.fromConnectData("t", Schema.FLOAT64_SCHEMA, one);
      doubles.add(one + " -> " + converter.toConnectData("t", written).value());
    }
    System.out.println("double, written by the converter and read by it: " + String.join("; ", doubles));
    System.out.println("payload of another program, and what is read: " + String.join("; ",
        read("int32", "\"12\""), read("boolean", "\"true\""), read("string", "12"), read("int32", "1.9")) + ";");
    System.out.println("  " + String.join("; ", read("int32", "5000000000"), read("int8", "300"), read("double", "\"1.5\"")));
    System.out.println("control: " + read("int32", "null"));
  }
}
JAVA
run java -Xmx256m -Dorg.slf4j.simpleLogger.defaultLogLevel=off -cp "$work/jars/*" "$work/Look.java" >"$work/seen" || exit 3 # the program failed, which says nothing about the behaviour
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
