"""Settings of Connect workers, connectors and MirrorMaker as data, and the clusters they are made for."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

MIRROR, FILE_SOURCE, FILE_SINK = "mirror", "file-source", "file-sink"
EXACTLY_ONCE = "exactly-once"
SYNCED, SAME = "synced", "same"
"""Values of the option `offsets`; the third one is "translated"."""
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_TEXT = "org.apache.kafka.connect.storage.StringConverter"
_TRANSACTIONS = {"transaction.timeout.ms": "10000"}
"""Until the transaction of a killed worker ends, its successor waits, by default a minute."""
_ANSWER_SECONDS = 30.0
_CHECKPOINT_SECONDS = "1"
"""Between two looks at the group; by default 60."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """`host:port` of the brokers of the input and of the output, which may be the same, and the number of
    replicas that internal topics have in each."""

    source: str
    target: str
    source_replicas: int = 1
    target_replicas: int = 1

    @classmethod
    def of(cls, source: str, target: str | None) -> Clusters:
        """The clusters with these brokers (None: there is only one), which are asked how many they are."""
        target = target or source
        return cls(source, target, replicas_for(source), replicas_for(target))


def replicas_for(bootstrap: str) -> int:
    """How many replicas an internal topic can have: three, or the number of brokers if there are fewer."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return min(3, len(admin.list_topics(timeout=_ANSWER_SECONDS).brokers))


def aliases(topic: str) -> tuple[str, str]:
    """Names of the source and of the target cluster, different for each topic, since MirrorMaker names its
    internal topics and groups after them: runs on one cluster do not see each other's."""
    number = f"{zlib.crc32(topic.encode()):08x}"
    return f"a{number}", f"b{number}"


def _route(source: str, topic: str, output: str) -> dict[str, str]:
    """MirrorMaker names the copy `source.topic`; the records go to the output topic, partitions kept."""
    escaped = f"{source}.{topic}".replace(".", "[.]")
    return {
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": escaped,
        "transforms.route.replacement": output,
    }


def worker_settings(*, clusters: Clusters, group: str, exactly_once: bool, commit_ms: int) -> dict[str, str]:
    """A distributed worker that is alone in its Connect cluster, beside the output."""
    replicas = clusters.target_replicas
    return {
        "bootstrap.servers": clusters.target,
        "group.id": f"{group}-workers",
        **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": str(replicas) for kind in ("config", "offset", "status")},
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "header.converter": _BYTES,
        "listeners": "http://127.0.0.1:0",
        "plugin.discovery": "service_load",
        "offset.flush.interval.ms": str(commit_ms),
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "1500",
        # A worker that comes back gets its tasks at once, not after 5 minutes.
        "scheduled.rebalance.max.delay.ms": "0",
        "exactly.once.source.support": "enabled" if exactly_once else "disabled",
        **{f"producer.{name}": value for name, value in _TRANSACTIONS.items() if exactly_once},
    }


def connector_settings(
    kind: str,
    *,
    clusters: Clusters,
    topic: str,
    output: str,
    group: str,
    exactly_once: bool,
    batch_size: int = 1,
) -> dict[str, str]:
    """A connector; `output` is a topic, and of a file sink its file. `topic` of a file source is its file, of
    which it takes `batch_size` lines at once."""
    once = {"exactly.once.support": "required"} if exactly_once else {}
    common = {"tasks.max": "1"}
    if kind == FILE_SOURCE:
        source = "org.apache.kafka.connect.file.FileStreamSourceConnector"
        text = {"value.converter": _TEXT, "batch.size": str(batch_size)}
        return {**common, **once, **text, "connector.class": source, "file": topic, "topic": output}
    if kind == FILE_SINK:
        return {
            **common,
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "topics": topic,
            "file": output,
            # Connect's own transformation of bytes to text: Base64.
            "transforms": "text",
            "transforms.text.type": "org.apache.kafka.connect.transforms.Cast$Value",
            "transforms.text.spec": "string",
            "consumer.override.group.id": group,
            "consumer.override.auto.offset.reset": "earliest",
            "consumer.override.session.timeout.ms": "6000",
            "consumer.override.heartbeat.interval.ms": "1500",
        }
    source, target = aliases(topic)
    return {
        **common,
        **once,
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": source,
        "target.cluster.alias": target,
        "source.cluster.bootstrap.servers": clusters.source,
        "target.cluster.bootstrap.servers": clusters.target,
        "topics": topic,
        "replication.factor": str(clusters.target_replicas),
        # It is beside the input.
        "offset-syncs.topic.replication.factor": str(clusters.source_replicas),
        "sync.topic.configs.enabled": "false",
        "sync.topic.acls.enabled": "false",
        **({"consumer.isolation.level": "read_committed"} if exactly_once else {}),
        **_route(source, topic, output),
    }


def mirrormaker_settings(
    *, clusters: Clusters, topic: str, output: str, exactly_once: bool, commit_ms: int
) -> dict[str, str]:
    """MirrorMaker 2 in its own process; if both clusters are one, this has two aliases."""
    source, target = aliases(topic)
    flow = f"{source}->{target}"
    settings = {
        "clusters": f"{source},{target}",
        f"{source}.bootstrap.servers": clusters.source,
        f"{target}.bootstrap.servers": clusters.target,
        f"{flow}.enabled": "true",
        f"{target}->{source}.enabled": "false",
        f"{flow}.topics": topic,
        f"{flow}.groups": "none",
        # Heartbeats are not needed, and would be counted with what is mirrored.
        "emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
        "sync.topic.configs.enabled": "false",
        "sync.topic.acls.enabled": "false",
        "tasks.max": "1",
        f"{target}.offset.flush.interval.ms": str(commit_ms),
        f"{target}.session.timeout.ms": "6000",
        f"{target}.heartbeat.interval.ms": "1500",
        f"{target}.scheduled.rebalance.max.delay.ms": "0",
        **{f"{flow}.{name}": value for name, value in _route(source, topic, output).items()},
    }
    settings["offset-syncs.topic.replication.factor"] = str(clusters.source_replicas)
    for name in ("", "checkpoints.topic.", "heartbeats.topic."):
        settings[f"{name}replication.factor"] = str(clusters.target_replicas)
    for name in ("offset", "status", "config"):
        settings[f"{name}.storage.replication.factor"] = str(clusters.target_replicas)
    if exactly_once:
        # The key without the target's alias is ignored.
        settings[f"{target}.exactly.once.source.support"] = "enabled"
        settings |= {f"{target}.producer.{name}": value for name, value in _TRANSACTIONS.items()}
        settings[f"{flow}.consumer.isolation.level"] = "read_committed"
        settings["dedicated.mode.enable.internal.rest"] = "true"
        settings["listeners"] = "http://127.0.0.1:0"
    return settings


def mirror_of(topic: str) -> str:
    """The topic that MirrorMaker makes for `topic` on the other cluster (DefaultReplicationPolicy)."""
    return f"{aliases(topic)[0]}.{topic}"


def failover_settings(*, clusters: Clusters, topic: str, group: str, commit_ms: int) -> dict[str, str]:
    """MirrorMaker 2 as `mirrormaker_settings`, with checkpoints of `group` and without a name of our own for
    the mirror, since checkpoints hold MirrorMaker's."""
    source, target = aliases(topic)
    flow = f"{source}->{target}"
    plain = mirrormaker_settings(
        clusters=clusters, topic=topic, output="", exactly_once=False, commit_ms=commit_ms
    )
    settings = {name: value for name, value in plain.items() if ".transforms" not in name}
    return {
        **settings,
        f"{flow}.groups": group,
        f"{flow}.emit.checkpoints.enabled": "true",
        f"{flow}.emit.checkpoints.interval.seconds": _CHECKPOINT_SECONDS,
        f"{flow}.sync.group.offsets.enabled": "true",
        f"{flow}.sync.group.offsets.interval.seconds": _CHECKPOINT_SECONDS,
        # As committed records only: the numbers of offsets then differ where there were transactions.
        f"{flow}.consumer.isolation.level": "read_committed",
    }
