"""Builds the records of one producer, queues them with its client, and journals them as sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.orders import RecordStream
from workloads.records.producer.payloads import PayloadBuilder, PayloadRecord, key_ids, produce_record
from workloads.records.producer.reports import DeliveryReports, Tally
from workloads.records.producer.send_journal import NO_KEY, NO_TXN, SendBatch, SendJournal
from workloads.records.record.identity import ValueBuilder, encode_key

_ANY_PARTITION = -1
"""librdkafka's RD_KAFKA_PARTITION_UA: the client chooses the partition."""


class RecordSender:
    """Sends records in the order of their numbers; only the producer's thread may use it."""

    def __init__(
        self,
        stream: RecordStream,
        spec: WorkloadSpec,
        journal: SendJournal,
        reports: DeliveryReports,
        tally: Tally,
    ) -> None:
        self._stream = stream
        self._spec = spec
        self._even = spec.spread == "even"
        self._journal = journal
        self._reports = reports
        self._tally = tally
        self._payload = spec.payload is not None
        self._build: ValueBuilder | PayloadBuilder
        if spec.payload is None:
            self._build = ValueBuilder(stream.run_id, stream.producer, spec.record_size, stream.seed)
        else:
            self._build = PayloadBuilder(spec.payload, stream.run_id, stream.producer, spec.keys)
        self._seq = 0
        self._built: list[Any] = []
        """Values, or records if they have a payload of the user's."""

    def send(
        self, produce: Callable[..., None], step: int, count: int, txn: int | None
    ) -> tuple[int, KafkaError | None]:
        """Queue up to `count` records and journal them; returns how many, and the error after which no more
        can be sent. There are fewer after that error, or if the client's queue is full. `txn` is the number
        of the open transaction (None: the producer has none)."""
        now, even = time.time_ns, self._even
        if self._payload:
            produce = partial(produce_record, produce)
        topic, partitions, keys = self._stream.topic, self._stream.partitions, self._spec.keys
        report = self._reports.callback
        first = self._seq
        sent: list[int] = []
        ended: KafkaError | None = None
        missing = count - len(self._built)
        if missing > 0:
            self._built += self._build.build_many(first + len(self._built), missing)
        for seq, value in enumerate(self._built[:count], first):
            key_number = seq if keys is None else seq % keys
            key = None if keys is None else encode_key(key_number)
            stamp = now()
            try:
                produce(topic, value, key, key_number % partitions if even else _ANY_PARTITION, report)
            except BufferError:
                # The client's queue is full: no outcome, the same record is tried again after a poll.
                break
            except KafkaException as error:
                cause = error.args[0]
                self._reports.refused(value.identity if self._payload else value, cause.name())
                broken = txn is not None and cause.code() != KafkaError.MSG_SIZE_TOO_LARGE
                if broken or cause.fatal() or cause.code() == KafkaError._FATAL:
                    ended = cause
                    sent.append(stamp)
                    break
            sent.append(stamp)
        self._seq = first + len(sent)
        # Values that the queue did not take are kept for the next time: at full speed the queue is usually
        # full.
        records = self._built[: len(sent)] if self._payload else []
        del self._built[: len(sent)]
        self._hand_over(step, first, sent, records, NO_TXN if txn is None else txn)
        return len(sent), ended

    def _hand_over(
        self, step: int, first: int, sent: list[int], records: list[PayloadRecord], txn: int
    ) -> None:
        if not sent:
            return
        seq, keys = np.arange(first, first + len(sent), dtype=np.int64), self._spec.keys
        key_number = seq if keys is None else seq % keys
        # Where the client chooses the partition, only its reports name it.
        partition = key_number % self._stream.partitions if self._even else np.full(len(sent), _ANY_PARTITION)
        key = key_number if keys is not None else np.full(len(sent), NO_KEY, dtype=np.int64)
        size: Any = self._spec.record_size
        if self._payload:
            size = np.array([len(record.value or b"") for record in records], dtype=np.int32)
            key = key_ids(records, key)
        batch = SendBatch(
            producer=self._stream.producer,
            first=first,
            step=step,
            size=size,
            sent_ns=np.array(sent, dtype=np.int64),
            partition=partition.astype(np.int32),
            key=key,
            txn=txn,
        )
        self._journal.opened(batch)
        self._tally.sent(len(sent))
