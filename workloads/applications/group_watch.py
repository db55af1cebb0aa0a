"""Asks brokers about an application's consumer group and its input: members, lag, ends of partitions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from harness.cluster.topic_admin import committed_as_consumer

UNKNOWN_ENDS = "not every leader tells the end of its partition"
_SECONDS = 5.0
_PROBE_SECONDS = 5.0
_PATIENCE = 3 * _SECONDS
"""Seconds after which a request counts as not answered, should librdkafka not give it up."""
_METADATA_MS = 1000
"""librdkafka asks a partition's leader for its end by what it knows of leaders, and does not forget that when
a broker answers that its epoch is over (FENCED_LEADER_EPOCH): without this, not for 15 minutes."""
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]


class GroupWatch:
    """Asks about `group` (None: it is not known) and the topic `topic`, which it reads.

    `transactional`: transactions write the topic, so that the end of a partition may be a marker, up to which
    no client commits. Offsets are those of committed records: no reader of committed records gets further.
    """

    def __init__(
        self,
        group: str | None,
        topic: str,
        partitions: int,
        *,
        bootstrap: str,
        security: Mapping[str, str],
        transactional: bool,
    ) -> None:
        self.group, self.topic, self.partitions = group, topic, partitions
        self._transactional = transactional
        self._settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, **security}
        own = {"socket.timeout.ms": int(_SECONDS * 1000), "metadata.max.age.ms": _METADATA_MS}
        self._client = AdminClient({**self._settings, **own})

    def describe_inactive(self) -> str | None:
        """Why the group does not read the topic yet, in words; None: it is stable and has every partition."""
        if self.group is None:
            return None
        try:
            described = self._described(self.group)
        except (KafkaException, TimeoutError) as error:
            return f"group {self.group} cannot be described: {_words(error)}"
        held = {
            assigned.partition
            for member in described.members
            for assigned in (member.assignment.topic_partitions or [])
            if assigned.topic == self.topic
        }
        if described.state is not ConsumerGroupState.STABLE:
            return f"group {self.group} is {described.state.name}, with {len(described.members)} member(s)"
        left = set(range(self.partitions)) - held
        return f"no member of group {self.group} has partition(s) {sorted(left)}" if left else None

    def strangers(self) -> tuple[str, ...]:
        """The members that the group has now, as "client id at host"; empty also if it does not exist."""
        if self.group is None:
            return ()
        try:
            members = self._described(self.group).members
        except (KafkaException, TimeoutError):
            return ()
        return tuple(f"{member.client_id} at {member.host}" for member in members)

    def ends(self) -> dict[int, int]:
        """The end of each partition of the topic; without those whose leader does not answer."""
        return self._offsets(_LATEST)

    def describe_lag(self, allowed: int) -> str | None:
        """How far the group is behind the end of the topic, in words; None: by `allowed` records or less."""
        if self.group is None:
            return None
        try:
            committed = committed_as_consumer(
                self._settings, self.group, self.topic, range(self.partitions), _SECONDS
            )
        except KafkaException as error:
            return f"the offsets of group {self.group} cannot be read: {_words(error)}"
        ends = self.ends()
        if len(ends) < self.partitions:
            return UNKNOWN_ENDS
        starts = self._offsets(_EARLIEST)
        positions = {number: max(committed.get(number, 0), starts.get(number, 0)) for number in ends}
        behind = {number: end - positions[number] for number, end in ends.items() if positions[number] < end}
        if self._transactional and sum(behind.values()) > allowed:
            behind = {
                number: self._records_from(number, positions[number], ends[number]) for number in behind
            }
        lag = sum(behind.values())
        return None if lag <= allowed else f"group {self.group} is {lag:,} record(s) behind"

    def _described(self, group: str) -> Any:
        return self._client.describe_consumer_groups([group], request_timeout=_SECONDS)[group].result(
            _PATIENCE
        )

    def _offsets(self, spec: OffsetSpec) -> dict[int, int]:
        wanted = {TopicPartition(self.topic, number): spec for number in range(self.partitions)}
        answers = self._client.list_offsets(
            wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_SECONDS
        )
        offsets = {}
        for topic_partition, answer in answers.items():
            with suppress(KafkaException, TimeoutError):
                offset = answer.result(_PATIENCE).offset
                if offset >= 0:  # librdkafka answers -1001 for a partition without a leader.
                    offsets[topic_partition.partition] = offset
        return offsets

    def _records_from(self, partition: int, offset: int, end: int) -> int:
        """The number of committed records of a partition from an offset to its end; without markers."""
        settings = {
            "group.id": "kafka-chaos-lag",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
        consumer = Consumer({**self._settings, **settings})
        records, deadline = 0, time.monotonic() + _PROBE_SECONDS
        try:
            consumer.assign([TopicPartition(self.topic, partition, offset)])
            while time.monotonic() < deadline:
                for message in consumer.consume(1000, timeout=0.2):
                    error = message.error()
                    if error is None:
                        records += 1
                    elif error.code() == KafkaError._PARTITION_EOF:
                        return records
        finally:
            consumer.close()
        return max(records, end - offset)


def _words(error: KafkaException | TimeoutError) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {_PATIENCE:g} s"
    return str(error.args[0].str())
