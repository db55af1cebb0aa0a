"""Wraps a consumer of a program's own client, so that what it hands out and commits is journaled."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.model.errors import BadInput
from workloads.own import aiokafka_consumer, kafka_python_consumer
from workloads.own.aiokafka_consumer import JournaledAIOKafkaConsumer
from workloads.own.confluent_consumer import JournaledConfluentConsumer
from workloads.own.consumer_journal import SESSION_MS, ConsumerJournal
from workloads.own.journaled_consumer import JournaledConsumer
from workloads.own.kafka_python_consumer import JournaledKafkaConsumer
from workloads.own.producer_folder import TOPIC_VARIABLE


def delivered(
    consumer: Any,
    *,
    member: str | None = None,
    group: str | None = None,
    topic: str | None = None,
    path: Path | str | None = None,
    journal: ConsumerJournal | None = None,
    explicit: bool = False,
) -> Any:
    """Wrap a consumer of this program: what it handed out and the program processed, what it committed, and
    the partitions that it owned are journaled for `ChaosResult.assert_delivered`.

    The result is used in place of the consumer, with the same methods, results and exceptions; wrap it before
    it subscribes (kafka-python and aiokafka: or with topics in the constructor, before the first record).

    A record counts as processed when the program takes the next one out of a batch, or asks the consumer for
    more or to commit: what it does until then belongs to the record. It does not if an error is on its way
    then. A program that hands records to threads or tasks says so itself: `explicit`, and
    `processed(record, ...)` of the result.

    Commits are those that the client sends, also by itself (enable.auto.commit); with confluent-kafka only if
    its configuration has `on_commit` of the journal that is given here.

    Args:
        consumer: a `kafka.KafkaConsumer` (kafka-python), an `aiokafka.AIOKafkaConsumer` or a
            `confluent_kafka.Consumer`.
        member: a name that no other member of the group has; None: "member-" and this process's number.
        group: the group.id; None: kafka-python and aiokafka are asked for it.
        topic: the topic whose records count; None: the one that the run names in `KAFKA_CHAOS_TOPIC`.
        path: the journal is also written to this file, for a test in another process, which reads it with
            `ConsumerJournal.read`.
        journal: the journal; None: a new one. It has the group, the topic and the member itself.
        explicit: only what the program says with `processed` counts.

    Returns:
        A `JournaledKafkaConsumer`, `JournaledAIOKafkaConsumer` or `JournaledConfluentConsumer`. Its `journal`
        is the `ConsumerJournal`.

    Raises:
        BadInput: no topic or no group is named, or the consumer cannot be journaled.
    """
    known = _known(consumer)
    told_group, session_ms = (None, None) if known.membership_of is None else known.membership_of(consumer)
    if journal is None:
        journal = ConsumerJournal(
            _given(group or told_group, "the consumer names no group", "group='billing', as its group.id"),
            member or f"member-{os.getpid()}",
            path=path,
            session_ms=session_ms or SESSION_MS,
            topic=_given(topic or os.environ.get(TOPIC_VARIABLE), "no topic is named", "topic='orders'"),
        )
    elif journal.topic is None:
        raise _refused("the journal names no topic", "ConsumerJournal(group, member, topic='orders')")
    return known.wrapper(consumer, journal, explicit=explicit)


@dataclass(frozen=True)
class _Known:
    """A class of consumers: its name, the package that defines it, what wraps it, and what asks it for its
    group and its session (None: it cannot be asked)."""

    package: str
    name: str
    wrapper: type[JournaledConsumer]
    membership_of: Callable[[Any], tuple[str | None, int | None]] | None = None


_CONFLUENT = _Known("confluent_kafka", "Consumer", JournaledConfluentConsumer)
_KNOWN = (
    _CONFLUENT,
    _Known("kafka", "KafkaConsumer", JournaledKafkaConsumer, kafka_python_consumer.membership_of),
    _Known("aiokafka", "AIOKafkaConsumer", JournaledAIOKafkaConsumer, aiokafka_consumer.membership_of),
)


def _known(consumer: Any) -> _Known:
    """What is known of the consumer's class, or of one that it extends."""
    if not isinstance(consumer, JournaledConsumer):
        for ancestor in type(consumer).__mro__:
            package = ancestor.__module__.partition(".")[0]
            for known in _KNOWN:
                if (known.package, known.name) == (package, ancestor.__name__):
                    return known
        # confluent_kafka.Consumer, which has another package, or what stands in for it.
        if all(callable(getattr(consumer, method, None)) for method in ("consume", "poll", "store_offsets")):
            return _CONFLUENT
    raise BadInput(
        "this consumer cannot be journaled",
        where="kafka_chaos.delivered",
        expected=", ".join(f"{one.package}.{one.name}" for one in _KNOWN),
        found=type(consumer).__name__,
        next_step="write a ConsumerJournal instead: docs/how-to/own-consumer.md",
    )


def _given(value: str | None, missing: str, example: str) -> str:
    if not value:
        raise _refused(missing, example)
    return value


def _refused(what: str, example: str) -> BadInput:
    return BadInput(what, where="kafka_chaos.delivered", next_step=f"pass {example}")
