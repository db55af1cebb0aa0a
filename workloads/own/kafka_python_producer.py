"""A producer of kafka-python that journals what it sends and what is reported."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from harness.model.journal import SendOutcome, TxnOutcome
from workloads.own.client_settings import ClientSettings, acks_of, named
from workloads.own.journaled_client import CLOSE_SECONDS, JournaledClient, without_identity
from workloads.own.own_journal import ANY_PARTITION, OwnJournal
from workloads.own.producer_folder import ProducerFolder
from workloads.records.clients import LOGGER_NAME
from workloads.records.journal.parquet_parts import ClosesAtEnd

_SERIALIZERS = ("key_serializer", "value_serializer")
_log = logging.getLogger(LOGGER_NAME)


def settings_of(producer: Any) -> ClientSettings:
    """How a `kafka.KafkaProducer` is configured, as it says itself."""
    config = producer.config
    return ClientSettings(
        client=named("kafka-python"),
        acks=acks_of(config.get("acks")),
        idempotent=bool(config.get("enable_idempotence")),
        max_in_flight=config.get("max_in_flight_requests_per_connection"),
        delivery_timeout_ms=config.get("delivery_timeout_ms"),
        transaction_timeout_ms=config.get("transaction_timeout_ms"),
    )


class JournaledKafkaProducer(JournaledClient, ClosesAtEnd):
    """A `kafka.KafkaProducer` whose sends and reports are journaled; made by `journaled`.

    What is not listed here goes to the producer as it is. `number` is the producer's number in the journals.
    """

    def __init__(self, producer: Any, folder: ProducerFolder, journal: OwnJournal) -> None:
        super().__init__(producer, folder, journal)
        # The identity has a checksum of the value as it is sent, so values are serialised here, and once.
        self._serializers = {name: producer.config[name] for name in _SERIALIZERS}
        producer.config.update(dict.fromkeys(_SERIALIZERS))
        self._order = threading.Lock()

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: list[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Any:
        """As `KafkaProducer.send`; a header with the record's identity is added.

        Raises:
            Exception: as the producer does. A record that it refuses is journaled as `rejected`.
            JournalError: the journal cannot be written.
        """
        if key is None and value is None:
            return self._producer.send(topic, value, key, headers, partition, timestamp_ms)
        as_list = headers or []
        raw_key = _serialised(self._serializers["key_serializer"], topic, as_list, key)
        raw_value = _serialised(self._serializers["value_serializer"], topic, as_list, value)
        if topic != self._journal.target.topic:
            return self._producer.send(topic, raw_value, raw_key, headers, partition, timestamp_ms)
        placed = ANY_PARTITION if partition is None else partition
        # Records are queued in the order of their numbers. The journal's own lock is not held meanwhile: a
        # producer that waits for free memory needs its reports, which are journaled, to get some.
        with self._order:
            self._journal.raise_if_failed()
            seq = self._journal.next_seq
            carried, added = self._carried(_bytes(raw_value), seq)
            self._sent(placed, _bytes(raw_key), _bytes(raw_value), timestamp_ms, headers)
            try:
                future = self._producer.send(
                    topic,
                    carried.value,
                    raw_key,
                    [*without_identity(headers), *added],
                    partition,
                    timestamp_ms,
                )
            except Exception as error:
                # It raises before a record is queued only (KafkaProducer.send).
                self._report(seq, type(error).__name__, SendOutcome.REJECTED)
                raise
        future.add_callback(partial(self._acked, seq))
        future.add_errback(partial(self._failed, seq))
        return future

    def begin_transaction(self) -> None:
        """As `KafkaProducer.begin_transaction`; what is sent until it ends belongs to the transaction."""
        self._producer.begin_transaction()
        self._transactions.begun()

    def commit_transaction(self) -> None:
        """As `KafkaProducer.commit_transaction`. After an error that allows it, call it again or abort."""
        self._transactions.commit_requested()
        self._end_transaction(self._producer.commit_transaction, TxnOutcome.COMMITTED)

    def abort_transaction(self) -> None:
        """As `KafkaProducer.abort_transaction`. After an error that allows it, call it again."""
        self._end_transaction(self._producer.abort_transaction, TxnOutcome.ABORTED)

    def close(self, timeout: float | None = None, null_logger: bool = False) -> None:
        """As `KafkaProducer.close`, after `end`, whose reports it waits for `timeout` seconds (None: 30)."""
        self.end(CLOSE_SECONDS if timeout is None else timeout)
        left = {} if timeout is None else {"timeout": timeout}
        self._producer.close(**left, **({"null_logger": True} if null_logger else {}))

    def _give_up(self, timeout: float) -> None:
        try:
            self._producer.flush(timeout)
        except Exception as error:
            # Reports are missing, or the producer is closed already. Its sends stay without a report.
            _log.info("producer %d: %s", self.number, error)
        finally:
            self._producer.config.update(self._serializers)
            self._serializers = dict.fromkeys(_SERIALIZERS)

    def _end_transaction(self, end: Callable[[], Any], outcome: TxnOutcome) -> None:
        try:
            end()
        except Exception as error:
            # Whether it can be tried again the producer's next call says.
            self._transactions.failed_to_end(type(error).__name__, may_go_on=True)
            raise
        self._transactions.ended(outcome)

    def _acked(self, seq: int, metadata: Any) -> None:
        self._acknowledged(seq, metadata.partition, metadata.offset)

    def _failed(self, seq: int, error: Any) -> None:
        self._report(seq, type(error).__name__, SendOutcome.INDETERMINATE)


def _serialised(serializer: Any, topic: str, headers: list[tuple[str, bytes]], data: Any) -> Any:
    """What the client would send: `serializer` is a Serializer of kafka-python 3 or 2, or a function."""
    if serializer is None:
        return data
    serialize = getattr(serializer, "serialize", None)
    if serialize is None:
        return serializer(data)
    try:
        return serialize(topic, headers, data)
    except TypeError:
        return serialize(topic, data)


def _bytes(content: Any) -> bytes | None:
    """As bytes what the client takes: bytes, a bytearray or a memoryview. It refuses the rest itself."""
    return bytes(content) if isinstance(content, bytes | bytearray | memoryview) else None
