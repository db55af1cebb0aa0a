"""An AIOProducer of confluent-kafka that journals what it sends and what is reported."""

from __future__ import annotations

import asyncio
from typing import Any

from confluent_kafka import KafkaException

from harness.model.errors import BadInput
from harness.model.journal import TxnOutcome
from workloads.own.journaled_client import Content, as_bytes
from workloads.own.journaled_coroutines import JournaledCoroutines
from workloads.own.own_journal import ANY_PARTITION
from workloads.records.record.carried_identity import IDENTITY_TEXT


class JournaledAIOProducer(JournaledCoroutines):
    """A `confluent_kafka.aio.AIOProducer` whose sends and reports are journaled; made by `journaled`.

    What is not listed here goes to the producer as it is. `number` is the producer's number in the journals,
    `identity_text` the text that becomes the identity of a record, in whose value it stands.
    """

    identity_text = IDENTITY_TEXT

    async def produce(
        self, topic: str, value: Content = None, key: Content = None, *arguments: Any, **named: Any
    ) -> asyncio.Future[Any]:
        """As `AIOProducer.produce`. It takes no headers, so the value must hold the text
        `identity_text`, which becomes the record's identity. A future that is cancelled is
        journaled all the same when the record is reported.

        Raises:
            Exception: as the producer does.
            BadInput: the value has no place for the identity.
            JournalError: the journal cannot be written.
        """
        if topic != self._journal.target.topic:
            other: asyncio.Future[Any] = await self._producer.produce(topic, value, key, *arguments, **named)
            return other
        raw_key = as_bytes(key)
        with self._journal.lock:
            self._journal.raise_if_failed()
            seq = self._journal.next_seq
            carried, headers = self._carried(as_bytes(value), seq)
            if headers:
                raise BadInput(
                    "an AIOProducer cannot send the identity of this record",
                    where=f"a record of {topic}",
                    expected="the text `producer.identity_text` in its value: AIOProducer takes no headers",
                    found="a value without it",
                    next_step="add it to the value, or use confluent_kafka.Producer, which takes headers",
                )
            placed = max(named.get("partition", ANY_PARTITION), ANY_PARTITION)
            self._sent(placed, raw_key, as_bytes(value), named.get("timestamp") or None)
        sending = self._producer.produce(topic, carried.value, key, *arguments, **named)
        return await self._handed_over(seq, sending)

    async def begin_transaction(self, *arguments: Any) -> None:
        """As `AIOProducer.begin_transaction`; what is sent until it ends belongs to the transaction."""
        await self._producer.begin_transaction(*arguments)
        self._transactions.begun()

    async def commit_transaction(self, *arguments: Any) -> None:
        """As `AIOProducer.commit_transaction`. After an error that allows it, call it again or abort."""
        await self._ended_by(self._producer.commit_transaction(*arguments), TxnOutcome.COMMITTED)

    async def abort_transaction(self, *arguments: Any) -> None:
        """As `AIOProducer.abort_transaction`. After an error that allows it, call it again."""
        await self._ended_by(self._producer.abort_transaction(*arguments), TxnOutcome.ABORTED)

    async def close(self) -> Any:
        """As `AIOProducer.close`, which waits for reports; then the journal is closed."""
        return await self._closed_by(self._producer.close())

    def _error(self, error: BaseException) -> str:
        return str(error.args[0].name()) if isinstance(error, KafkaException) else type(error).__name__

    def _placed(self, told: Any) -> tuple[int, int]:
        return told.partition(), told.offset()
