#!/bin/bash
# Run one class of Kafka in a JVM that takes this process's place, so that signals reach it.
# Usage: kafka-run-class.sh [-name NAME] [-loggc] CLASS [ARGUMENT...]
set -eu

home=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
while [[ "${1:-}" == -* ]]; do
  case "$1" in
    -name) shift 2 ;;
    -loggc) shift ;;
    *) echo "kafka-run-class.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
[[ $# -gt 0 ]] || { echo "usage: kafka-run-class.sh [-name NAME] [-loggc] CLASS [ARGUMENT...]" >&2; exit 2; }

# The glob sorts, so the class path is the same every time: a class data archive is bound to it.
class_path=${CLASSPATH:-}
for jar in "$home"/libs/*.jar; do
  class_path=${class_path:+$class_path:}$jar
done

: "${KAFKA_HEAP_OPTS:=-Xmx256M}"
: "${KAFKA_JVM_PERFORMANCE_OPTS=-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -XX:MaxInlineLevel=15 -Djava.awt.headless=true}"
# Kafka before 4.0 logs through log4j 1.
if compgen -G "$home/libs/log4j-core-*.jar" >/dev/null; then
  logging=-Dlog4j2.configurationFile=$home/config/${LOGGING-tools-}log4j2.yaml
else
  logging=-Dlog4j.configuration=file:$home/config/${LOGGING-tools-}log4j.properties
fi
: "${KAFKA_LOG4J_OPTS:=$logging}"
: "${LOG_DIR:=$home/logs}"
if [[ -z "${KAFKA_JMX_OPTS:-}" && -n "${JMX_PORT:-}" ]]; then
  KAFKA_JMX_OPTS="-Dcom.sun.management.jmxremote -Dcom.sun.management.jmxremote.authenticate=false -Dcom.sun.management.jmxremote.ssl=false -Dcom.sun.management.jmxremote.port=$JMX_PORT"
fi

java=java
[[ -z "${JAVA_HOME:-}" ]] || java=$JAVA_HOME/bin/java
# Unquoted on purpose: each variable holds several options.
# shellcheck disable=SC2086
exec "$java" $KAFKA_HEAP_OPTS $KAFKA_JVM_PERFORMANCE_OPTS ${ARCHIVE_OPTS:-} ${KAFKA_GC_LOG_OPTS:-} \
  ${KAFKA_JMX_OPTS:-} "-Dkafka.logs.dir=$LOG_DIR" $KAFKA_LOG4J_OPTS -cp "$class_path" ${KAFKA_OPTS:-} "$@"
