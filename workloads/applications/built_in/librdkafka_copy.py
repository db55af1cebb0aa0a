"""Copies a topic with librdkafka: consume, process, produce, in one of the three ways to order the commit.

at-least-once    write a batch, wait for its reports, commit its offsets
at-most-once     commit the offsets of a batch, then write it
exactly-once     a transaction holds the batch and its offsets (KIP-98, KIP-447)
"""

from __future__ import annotations

import argparse
import os
import signal
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition

from workloads.applications.built_in.lifecycle import ready, say, stop_event

_SECONDS = 60.0
_MARK = "died"


class Copier:
    """One instance. Raises KafkaException if brokers refuse or do not answer for a minute."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._exactly = options.guarantee == "exactly-once"
        self._failed: list[str] = []
        self._number = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": options.bootstrap,
                "group.id": options.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": 6000,
            }
        )
        transactional = {"transactional.id": f"{options.group}-{options.instance}"} if self._exactly else {}
        self._producer = Producer(
            {"bootstrap.servers": options.bootstrap, "enable.idempotence": True, "linger.ms": 5}
            | transactional
        )
        if self._exactly:
            self._producer.init_transactions(_SECONDS)
        self._consumer.subscribe([options.input], on_assign=lambda *_: ready())

    def step(self) -> None:
        """Copy one batch, if there is one."""
        records = self._consumer.consume(self._options.batch, timeout=0.2)
        records = [record for record in records if record.error() is None]
        if not records:
            return
        if self._exactly:
            self._in_a_transaction(records)
        elif self._options.guarantee == "at-least-once":
            self._write_all(records)
            self._die_if_planned()
            self._consumer.commit(offsets=self._after(records), asynchronous=False)
        else:
            self._consumer.commit(offsets=self._after(records), asynchronous=False)
            self._die_if_planned()
            self._write_all(records)
        self._number += 1

    def close(self) -> None:
        self._consumer.close()

    def _in_a_transaction(self, records: list[Message]) -> None:
        self._producer.begin_transaction()
        try:
            self._write(records)
            # A record that cannot be written makes the commit fail, too.
            self._producer.flush(_SECONDS)
            self._die_if_planned()
            self._producer.send_offsets_to_transaction(
                self._after(records), self._consumer.consumer_group_metadata(), _SECONDS
            )
            self._producer.commit_transaction(_SECONDS)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            say(f"transaction aborted: {error}")
            self._producer.abort_transaction(_SECONDS)
            self._rewind()

    def _rewind(self) -> None:
        """Return to the offsets that the group has committed: the batch was not processed."""
        for committed in self._consumer.committed(self._consumer.assignment(), _SECONDS):
            self._consumer.seek(
                committed
                if committed.offset >= 0
                else TopicPartition(committed.topic, committed.partition, OFFSET_BEGINNING)
            )

    def _write(self, records: list[Message]) -> None:
        for record in records:
            while True:
                try:
                    self._producer.produce(
                        self._options.output,
                        record.value(),
                        record.key(),
                        headers=record.headers() or [],
                        on_delivery=None if self._exactly else self._reported,
                    )
                except BufferError:
                    self._producer.poll(0.1)
                else:
                    break

    def _write_all(self, records: list[Message]) -> None:
        """Write the records, and wait for their reports."""
        self._write(records)
        left = self._producer.flush(_SECONDS)
        if self._failed or left:
            reason = self._failed[0] if self._failed else "no report"
            raise RuntimeError(f"{len(self._failed) or left} record(s) could not be written: {reason}")

    def _reported(self, error: Any, _: Message) -> None:
        if error is not None:
            self._failed.append(str(error))

    def _after(self, records: list[Message]) -> list[TopicPartition]:
        newest = {record.partition(): record for record in records}  # The last record of each partition.
        return [
            TopicPartition(self._options.input, int(record.partition() or 0), int(record.offset() or 0) + 1)
            for record in newest.values()
        ]

    def _die_if_planned(self) -> None:
        mark = self._options.state / _MARK
        planned = self._options.die and self._options.die_in_batch == self._number
        if planned and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def main(options: argparse.Namespace) -> int:
    stopping = stop_event()
    try:
        copier = Copier(options)
        while not stopping.is_set():
            copier.step()
        copier.close()
    except (KafkaException, RuntimeError) as error:
        say(str(error))
        return 3
    return 0
