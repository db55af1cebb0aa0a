"""The process of a member with the Java client's share consumer: `python -m workloads.share.java_member`.

Each member has a JVM of its own, which ends with this process. Its answers are those of `commitSync`, or of
its acknowledgement commit callback.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from workloads.java.java_client import error_of
from workloads.java.jvm import Jvm, each_of, java_duration, java_list, java_map
from workloads.share.member_loop import Answer, Given, MemberSettings, ShareError, run_process

SHARE_MEMBER = (sys.executable, "-m", "workloads.share.java_member")
_FATAL = ("Authentication", "Authorization", "Fenced", "UnsupportedVersion", "Serialization")


class JavaShareClient:
    """A KafkaShareConsumer, subscribed to one topic. `more` of the settings has the client's `jar` and
    `access`: the properties for TLS and SASL."""

    def __init__(self, settings: MemberSettings) -> None:
        self._answers: deque[Answer] = deque()
        self._jvm = Jvm(Path(settings.more["jar"]))
        packages = self._jvm.packages
        clients = packages.org.apache.kafka.clients.consumer
        bytes_of = packages.org.apache.kafka.common.serialization.ByteArrayDeserializer
        self._types = {
            word: getattr(clients.AcknowledgeType, word.upper()) for word in ("accept", "release", "reject")
        }
        with _as_share_errors(fatal=True):
            config = java_map(packages, {**settings.properties, **settings.more["access"]})
            self._consumer = clients.KafkaShareConsumer(config, bytes_of(), bytes_of())
            if not settings.wait:
                # With commitSync, the answers are what it returns.
                self._jvm.accept_callbacks()
                self._consumer.setAcknowledgementCommitCallback(self)
            self._consumer.subscribe(java_list(packages, settings.topic))

    def poll(self, seconds: float) -> list[Given]:
        with _as_share_errors():
            records = self._consumer.poll(java_duration(self._jvm.packages, seconds))
            return [_given(record) for record in each_of(records)]

    def acknowledge(self, record: Given, word: str) -> None:
        with _as_share_errors():
            self._consumer.acknowledge(record.message, self._types[word])

    def commit(self, *, wait: bool) -> list[Answer]:
        with _as_share_errors():
            if not wait:
                self._consumer.commitAsync()
                return self.answers()
            answers: list[Answer] = []
            for entry in each_of(self._consumer.commitSync().entrySet()):
                problem = entry.getValue()
                error = str(problem.get().getClass().getSimpleName()) if problem.isPresent() else None
                answers.append((int(entry.getKey().partition()), None, error))
            return answers

    def answers(self) -> list[Answer]:
        return [self._answers.popleft() for _ in range(len(self._answers))]

    def close(self) -> None:
        try:
            with _as_share_errors():
                self._consumer.close()
        finally:
            self._jvm.close()

    # As the acknowledgement commit callback: Java calls it, in a thread of its own.
    class Java:
        implements = ("org.apache.kafka.clients.consumer.AcknowledgementCommitCallback",)

    def onComplete(self, offsets: Any, error: Any) -> None:
        name = None if error is None else str(error.getClass().getSimpleName())
        for entry in each_of(offsets.entrySet()):
            partition = int(entry.getKey().partition())
            self._answers.extend((partition, int(offset), name) for offset in each_of(entry.getValue()))


def _given(record: Any) -> Given:
    count = record.deliveryCount()
    value = record.value()
    return Given(
        partition=int(record.partition()),
        offset=int(record.offset()),
        delivery_count=int(count.get()) if count.isPresent() else None,
        value=None if value is None else bytes(value),
        headers=[(str(header.key()), bytes(header.value())) for header in each_of(record.headers())],
        message=record,
    )


@contextmanager
def _as_share_errors(*, fatal: bool = False) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        report = error_of(error)
        ends = fatal or any(word in report.exception for word in _FATAL)
        raise ShareError(report.str(), fatal=ends) from error
    except (Py4JError, OSError) as error:
        raise ShareError(f"the JVM has ended: {error}", fatal=True) from error


if __name__ == "__main__":
    run_process(JavaShareClient)
