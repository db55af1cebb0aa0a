"""Starts the nodes of clusters before Kafka 4.0 that keep their metadata in ZooKeeper.

The entry point of the images is made for KRaft (it takes settings from variables and formats storage). Nodes
of a ZooKeeper cluster therefore have their own command, the same for every image, and get all their settings
in one variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.model.node_layout import ZOOKEEPER_PORT

SETTINGS = "KAFKA_CHAOS_SETTINGS"
"""Lines `name=value`."""

_CONFIG = "/opt/kafka/config/kafka-chaos"
# Kafka before 4.0 logs with log4j 1, whose settings are in different files in different images.
_LOGGING = f"""
set -e
printf '%s\\n' "${SETTINGS}" >{_CONFIG}.properties
cat >{_CONFIG}-log4j.properties <<'END'
log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
END
export KAFKA_LOG4J_OPTS=-Dlog4j.configuration=file:{_CONFIG}-log4j.properties
"""
_START = "exec /opt/kafka/bin/kafka-server-start.sh"
_RUN = "exec /opt/kafka/bin/kafka-run-class.sh org.apache.zookeeper.server.quorum.QuorumPeerMain"
BROKER_COMMAND = ("bash", "-c", f"{_LOGGING}{_START} {_CONFIG}.properties")
ZOOKEEPER_COMMAND = ("bash", "-c", f"{_LOGGING}{_RUN} {_CONFIG}.properties")
DUMP = f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{ZOOKEEPER_PORT} && printf dump >&3 && cat <&3'"
"""Prints the sessions and their ephemeral nodes (ZooKeeper's command `dump`)."""
_SESSION = re.compile(r"^0x[0-9a-f]+:$", re.MULTILINE)
_BROKER = re.compile(r"^\s*/brokers/ids/(\d+)\s*$", re.MULTILINE)
_CONTROLLER = re.compile(r"^\s*/controller\s*$", re.MULTILINE)


def controller_of(dump: str) -> int | None:
    """The broker whose session owns /controller; None if there is no controller now."""
    for session in _SESSION.split(dump)[1:]:
        broker = _BROKER.search(session)
        if broker and _CONTROLLER.search(session):
            return int(broker[1])
    return None


def settings(properties: Mapping[str, str]) -> str:
    """Properties in the format of the variable `SETTINGS`."""
    return "\n".join(f"{name}={value}" for name, value in sorted(properties.items()))


def server_settings(folder: str) -> dict[str, str]:
    """Settings of the ZooKeeper server, which keeps its data in `folder`."""
    # With short ticks a broker's session may be as short as 2 s. `dump` shows the live sessions.
    return {
        "clientPort": str(ZOOKEEPER_PORT),
        "dataDir": folder,
        "tickTime": "1000",
        "minSessionTimeout": "2000",
        "maxSessionTimeout": "60000",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
    }
