"""Journals the commits of clients in Python, also those that they make by themselves."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from harness.model.errors import BadInput
from workloads.own.consumer_journal import ConsumerJournal


def journal_commits(coordinator: Any, method: str, journal: ConsumerJournal) -> None:
    """Have every commit that `coordinator` asks a broker for, and its answer, journaled.

    Args:
        coordinator: the part of a consumer that speaks to the group's coordinator.
        method: its coroutine that sends one OffsetCommit request and raises its error; the last argument is
            a dict of TopicPartition and OffsetAndMetadata.

    Raises:
        BadInput: there is no such method: the client is of another version.
    """
    send: Callable[..., Awaitable[Any]] | None = getattr(coordinator, method, None)
    if send is None:
        raise BadInput(
            "the commits of this consumer cannot be journaled",
            where="kafka_chaos.delivered",
            expected="kafka-python 3.0 or aiokafka 0.14, or a version that commits as they do",
            found=f"{type(coordinator).__module__} without {method}",
            next_step="write a ConsumerJournal instead: docs/how-to/own-consumer.md",
        )
    ask = send

    async def journaled(*arguments: Any) -> Any:
        offsets: Mapping[Any, Any] = arguments[-1]
        ours = [
            (partition.partition, position.offset)
            for partition, position in offsets.items()
            if partition.topic == journal.topic
        ]
        asked_ns = time.time_ns()
        try:
            answer = await ask(*arguments)
        except BaseException as error:
            if ours:
                journal.committed(ours, asked_ns=asked_ns, error=f"{type(error).__name__}: {error}")
            raise
        if ours:
            journal.committed(ours, asked_ns=asked_ns)
        return answer

    setattr(coordinator, method, journaled)
