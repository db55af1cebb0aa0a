"""The settings of topics, and those of brokers that Kafka can change while they run.

Source: Kafka's documentation of 3.9, 4.3 and 4.4, Topic Configs, and Broker Configs whose update mode is not
read-only. Settings of listeners, credentials and plug-ins are left out: changing them cuts all clients off.
"""

from __future__ import annotations

_OF_TOPICS = """
cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level
delete.retention.ms errors.deadletterqueue.group.enable file.delete.delay.ms flush.messages flush.ms
follower.replication.throttled.replicas index.interval.bytes leader.replication.throttled.replicas
local.retention.bytes local.retention.ms max.compaction.lag.ms max.decompressed.message.bytes
max.message.bytes message.downconversion.enable message.format.version message.timestamp.after.max.ms
message.timestamp.before.max.ms message.timestamp.difference.max.ms message.timestamp.type
min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas preallocate remote.copy.lag.bytes
remote.copy.lag.ms remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable retention.bytes
retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms unclean.leader.election.enable
"""

_OF_BROKERS = """
background.threads compression.gzip.level compression.lz4.level compression.type compression.zstd.level
cordoned.log.dirs errors.deadletterqueue.auto.create.topics.enable errors.deadletterqueue.topic.name.prefix
follower.fetch.last.tiered.offset.enable follower.replication.throttled.rate
group.consumer.assignment.interval.ms group.coordinator.cached.buffer.max.bytes
group.share.assignment.interval.ms group.streams.assignment.interval.ms leader.replication.throttled.rate
log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms
log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second
log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms
log.cleaner.threads log.cleanup.policy log.flush.interval.messages log.flush.interval.ms
log.index.interval.bytes log.index.size.max.bytes log.local.retention.bytes log.local.retention.ms
log.message.downconversion.enable log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms
log.message.timestamp.difference.max.ms log.message.timestamp.type log.preallocate log.remote.copy.lag.bytes
log.remote.copy.lag.ms log.retention.bytes log.retention.ms log.roll.jitter.ms log.roll.ms log.segment.bytes
log.segment.delete.delay.ms max.connection.creation.rate max.connections max.connections.per.ip
max.connections.per.ip.overrides max.decompressed.message.bytes message.max.bytes min.insync.replicas
num.io.threads num.network.threads num.recovery.threads.per.data.dir num.replica.fetchers
producer.id.expiration.ms remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms
remote.log.index.file.cache.total.size.bytes remote.log.manager.copier.thread.pool.size
remote.log.manager.copy.max.bytes.per.second remote.log.manager.expiration.thread.pool.size
remote.log.manager.fetch.max.bytes.per.second remote.log.manager.follower.thread.pool.size
remote.log.reader.threads replica.alter.log.dirs.io.max.bytes.per.second
share.coordinator.cached.buffer.max.bytes transaction.partition.verification.enable
unclean.leader.election.enable
"""

OF_TOPICS = frozenset(_OF_TOPICS.split())
OF_BROKERS = frozenset(_OF_BROKERS.split())

TOPIC_NAMES = {
    "log.cleanup.policy": "cleanup.policy",
    "log.retention.bytes": "retention.bytes",
    "log.retention.ms": "retention.ms",
}
"""The settings of brokers that say what may be deleted of topics without a setting of their own, with the
topics' names of them."""
