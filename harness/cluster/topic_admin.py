"""Creates, deletes and describes topics and consumer groups, with confluent-kafka's AdminClient."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from harness.model.errors import BadInput, ClusterError, KafkaChaosError

_SECONDS = 30.0
_AGAIN_SECONDS = 0.25
_REFUSED_SETTINGS = ("INVALID_CONFIG", "INVALID_REQUEST")
_REFUSED_TOPIC = ("INVALID_CONFIG", "INVALID_REPLICATION_FACTOR", "INVALID_PARTITIONS", "POLICY_VIOLATION")
_REFUSALS = {"the topic's settings": _REFUSED_TOPIC, "the settings of the group": _REFUSED_SETTINGS}
"""The brokers' answers to settings that the user has to correct."""
_FENCED = "fenced"
"""In Kafka's refusal of a topic where no broker that could hold a replica is alive at the moment."""
_SESSION_SECONDS = 60.0
"""More than session.timeout.ms (45 s), after which killed members leave their group (KIP-735)."""


class TopicAdmin:
    """Topic administration of one cluster. `security` holds the clients' security settings, by librdkafka's
    names. What the brokers refuse or do not answer is raised as a ClusterError, and as BadInput if they
    refuse settings that the user chose."""

    def __init__(self, bootstrap: str, security: Mapping[str, str] | None = None) -> None:
        # The socket time-out is an upper limit for the time-out of every request.
        self._settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "socket.timeout.ms": int(_SECONDS * 1000),
            "log_level": 0,
            **(security or {}),
        }
        self._client = AdminClient(self._settings)

    def create(
        self,
        topic: str,
        *,
        partitions: int,
        replication_factor: int,
        config: dict[str, str],
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic; `assignment` names each partition's brokers, the preferred leader first. While all
        brokers are fenced it is tried again, for 30 s. That the topic exists is a ClusterError."""
        before = self.exists(topic)
        named = [list(brokers) for brokers in assignment or ()]
        placing = {"replica_assignment": named} if named else {"replication_factor": replication_factor}
        new = NewTopic(topic, num_partitions=partitions, config=config, **placing)
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                self._client.create_topics([new], operation_timeout=_SECONDS)[topic].result()
                return
            except KafkaException as error:
                reason = error.args[0]
                # A controller that was elected late, or stalled, has fenced every broker until its next
                # heartbeat.
                if _FENCED in reason.str() and time.monotonic() < deadline:
                    time.sleep(_AGAIN_SECONDS)
                    continue
                # A broker that forwards a request to a slow controller sends it again after
                # controller.socket.timeout.ms, and the second one finds the topic that the first one made.
                if reason.code() == KafkaError.TOPIC_ALREADY_EXISTS and not before:
                    return
                where = f"{partitions} partitions, replication factor {replication_factor}, {config}"
                what = "the topic could not be created"
                raise _failure(what, where, reason, "the topic's settings") from error

    def delete(self, topic: str) -> None:
        """Delete a topic; the brokers remove its files later. A missing topic is no failure."""
        try:
            self._client.delete_topics([topic], operation_timeout=_SECONDS)[topic].result()
        except KafkaException as error:
            # Also the answer to a request that a broker forwarded a second time.
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return
            raise ClusterError("the topic could not be deleted", where=topic, found=str(error)) from error

    def exists(self, topic: str) -> bool:
        """Whether a broker knows the topic."""
        return topic in self._topics(topic)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete the records of partitions below an offset each (its end, if that is lower)."""
        wanted = [TopicPartition(topic, number, offset) for number, offset in before.items()]
        try:
            latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
            ends = self._client.list_offsets(dict.fromkeys(wanted, latest))
            wanted = [
                TopicPartition(
                    topic,
                    topic_partition.partition,
                    min(before[topic_partition.partition], done.result(_SECONDS).offset),
                )
                for topic_partition, done in ends.items()
            ]
            for done in self._client.delete_records(wanted, operation_timeout=_SECONDS).values():
                done.result()
        except KafkaException as error:
            raise ClusterError("records could not be deleted", where=topic, found=str(error)) from error

    def groups(self) -> set[str]:
        """Names of all consumer groups of the cluster, in any state."""
        try:
            listed = self._client.list_consumer_groups(request_timeout=_SECONDS).result()
        except KafkaException as error:
            raise ClusterError("the consumer groups could not be listed", found=str(error)) from error
        return {group.group_id for group in listed.valid}

    def committed(self, topic: str) -> dict[str, dict[int, int]]:
        """The offsets that consumer groups have committed for a topic, by group and partition; groups
        without any are left out."""
        by_group: dict[str, dict[int, int]] = {}
        metadata = self._topics(topic).get(topic)
        partitions = sorted(metadata.partitions) if metadata is not None else []
        for group in sorted(self.groups()) if partitions else ():
            try:
                offsets = committed_as_consumer(self._settings, group, topic, partitions, _SECONDS)
            except KafkaException as error:
                what, where = "the committed offsets could not be read", f"group {group}"
                raise ClusterError(what, where=where, found=str(error)) from error
            if offsets:
                by_group[group] = offsets
        return by_group

    def _topics(self, topic: str) -> Mapping[str, Any]:
        """The metadata of all topics, by name; `topic` is the one that the error names."""
        try:
            return dict(self._client.list_topics(timeout=_SECONDS).topics)
        except KafkaException as error:
            raise ClusterError("the topics could not be listed", where=topic, found=str(error)) from error

    def delete_groups(self, groups: Sequence[str]) -> list[tuple[str, str]]:
        """Delete consumer groups; returns (name, reason) for each that could not be deleted. A missing group
        is no failure. A group with killed members is tried again until their sessions have timed out."""
        left, failed = list(groups), list[tuple[str, str]]()
        deadline = time.monotonic() + _SESSION_SECONDS
        while left:
            deletions = self._client.delete_consumer_groups(left, request_timeout=_SECONDS)
            left = []
            for name, done in deletions.items():
                try:
                    done.result()
                except KafkaException as error:
                    refusal = error.args[0]
                    if refusal.name() == "NON_EMPTY_GROUP" and time.monotonic() < deadline:
                        left.append(name)
                    elif refusal.name() != "GROUP_ID_NOT_FOUND":
                        failed.append((name, str(refusal.str())))
            if left:
                time.sleep(_AGAIN_SECONDS)
        return failed

    def set_group_config(self, group: str, config: Mapping[str, str]) -> None:
        """Set settings of a group, by Kafka's names; the others stay as they are."""
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        resource: Any = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
        try:
            self._client.incremental_alter_configs([resource])[resource].result()
        except KafkaException as error:
            what, where = "the settings of a group could not be set", f"group {group}, {dict(config)}"
            raise _failure(what, where, error.args[0], "the settings of the group") from error

    def config(self, topic: str) -> dict[str, str]:
        """The topic's effective configuration, defaults included. Brokers that do not know a new topic yet
        are asked again."""
        resource: Any = ConfigResource(ResourceType.TOPIC, topic)
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                entries = self._client.describe_configs([resource])[resource].result()
            except KafkaException as error:
                reason = error.args[0]
                if reason.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and time.monotonic() < deadline:
                    time.sleep(_AGAIN_SECONDS)
                    continue
                raise _failure("the topic's configuration could not be read", topic, reason) from error
            return {name: str(entry.value) for name, entry in entries.items()}


def committed_as_consumer(
    settings: Mapping[str, Any], group: str, topic: str, partitions: Iterable[int], seconds: float
) -> dict[int, int]:
    """The committed offset of each of these partitions; those without any are left out. They are read by a
    consumer that has the group.id and does not join the group.

    Offsets of open transactions are not waited for. `settings` are a client's, by librdkafka's names.

    The admin client's own request for them (`list_consumer_group_offsets`) is not used: up to librdkafka
    2.16.0 it may end the process (librdkafka issue 5040).

    Raises:
        KafkaException: no coordinator answers for all of them within `seconds`.
    """
    own = {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_uncommitted"}
    consumer = Consumer({**settings, **own})
    try:
        committed = consumer.committed([TopicPartition(topic, number) for number in partitions], seconds)
    finally:
        consumer.close()
    for entry in committed:
        if entry.error is not None:
            raise KafkaException(entry.error)
    return {entry.partition: entry.offset for entry in committed if entry.offset >= 0}


def _failure(what: str, where: str, reason: KafkaError, settings: str = "") -> KafkaChaosError:
    """The error for the brokers' answer: BadInput if it refuses `settings`, which the user chose."""
    found = f"{reason.name()}: {reason.str()}"
    if reason.name() in _REFUSALS.get(settings, ()):
        return BadInput(what, where=where, found=found, next_step=f"correct {settings}")
    return ClusterError(what, where=where, found=found, next_step="see the brokers' logs")
