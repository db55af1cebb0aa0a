"""The process of a member with librdkafka's share consumer: `python -m workloads.share.librdkafka_member`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaError, KafkaException, ShareConsumer
from confluent_kafka.cimpl import IllegalStateException

from workloads.records.clients import client_logger
from workloads.share.member_loop import Answer, Given, MemberSettings, ShareError, run_process

_COMMIT_SECONDS = 30.0


class LibrdkafkaShareClient:
    """confluent-kafka's ShareConsumer, subscribed to one topic."""

    def __init__(self, settings: MemberSettings) -> None:
        self._answers: list[Answer] = []
        with _as_share_errors(fatal=True):
            self._consumer: Any = ShareConsumer(settings.properties, logger=client_logger())
            if not settings.wait:
                # With commit_sync, the answers are what it returns.
                self._consumer.set_acknowledgement_commit_callback(self._committed)
            self._consumer.subscribe([settings.topic])

    def poll(self, seconds: float) -> list[Given]:
        with _as_share_errors():
            messages = self._consumer.poll(seconds)
            given = [message for message in messages if message.error() is None]
            if messages and not given:
                raise KafkaException(messages[0].error())
        return [
            Given(
                partition=message.partition(),
                offset=message.offset(),
                delivery_count=message.delivery_count(),
                value=message.value(),
                headers=message.headers(),
                message=message,
            )
            for message in given
        ]

    def acknowledge(self, record: Given, word: str) -> None:
        with _as_share_errors():
            self._consumer.acknowledge(record.message, AcknowledgeType[word.upper()])

    def commit(self, *, wait: bool) -> list[Answer]:
        with _as_share_errors():
            if not wait:
                self._consumer.commit_async()
                return self.answers()
            errors = self._consumer.commit_sync(_COMMIT_SECONDS)
            return [
                (partition.partition, None, None if error is None else _name(error))
                for partition, error in errors.items()
            ]

    def answers(self) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        with _as_share_errors():
            self._consumer.close()

    def _committed(self, offsets: Any, error: Any) -> None:
        name = None if error is None else _name(error)
        self._answers += [
            (partition.partition, offset, name)
            for partition, several in offsets.items()
            for offset in several
        ]


def _name(error: Any) -> str:
    reason = error.args[0] if isinstance(error, KafkaException) else error
    return reason.name() if isinstance(reason, KafkaError) else str(reason)


@contextmanager
def _as_share_errors(*, fatal: bool = False) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        reason = error.args[0]
        ends = fatal or (isinstance(reason, KafkaError) and reason.fatal())
        words = f"{reason.name()}: {reason.str()}" if isinstance(reason, KafkaError) else str(error)
        raise ShareError(words, fatal=ends) from error
    except IllegalStateException as error:
        raise ShareError(str(error), fatal=fatal) from error


if __name__ == "__main__":
    run_process(LibrdkafkaShareClient)
