"""Wraps a producer of a program's own client, so that it journals what it sends and what is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.model.errors import BadInput
from workloads.own import aiokafka_producer, kafka_python_producer
from workloads.own.aiokafka_producer import JournaledAIOKafkaProducer
from workloads.own.client_settings import ClientSettings
from workloads.own.confluent_async_producer import JournaledAIOProducer
from workloads.own.confluent_producer import JournaledProducer, Report
from workloads.own.journaled_client import JournaledClient
from workloads.own.kafka_python_producer import JournaledKafkaProducer
from workloads.own.own_journal import OwnJournal
from workloads.own.producer_folder import open_folder


def journaled(
    producer: Any,
    *,
    journal: str | Path | None = None,
    topic: str | None = None,
    producer_id: int | None = None,
    acks: Literal["0", "1", "all"] = "all",
    id: Mapping[str, Any] | None = None,
    on_delivery: Report | None = None,
) -> Any:
    """Wrap a producer of this program: what it sends, and what is reported, is journaled.

    The result is used in place of the producer, with the same methods, results and exceptions. Each record of
    the topic gets its identity in the header `kafka-chaos-identity`. Close it at the end (`close`, or `stop`
    of aiokafka), or use it as a context manager: a producer whose journal is not closed makes the verdict
    `unknown`.

    Args:
        producer: a `confluent_kafka.Producer`, a `confluent_kafka.aio.AIOProducer`, a `kafka.KafkaProducer`
            (kafka-python) or an `aiokafka.AIOKafkaProducer`. A `SerializingProducer` is refused: the identity
            has a checksum of the value as it is sent.
        journal: folder of the journals; None: the one that the run names in `KAFKA_CHAOS_JOURNAL`. Producers
            of several processes may share it.
        topic: the topic whose records are journaled; others are passed on as they are. A run's folder names
            it already.
        producer_id: number of this producer in the journals; None: the first free one.
        acks: as the producer is configured; only without a run, whose arm says it, and for confluent-kafka.
            kafka-python and aiokafka are asked for their settings, by which the run is judged.
        id: where records have an id of their own, as below `own: {id: ...}` in an experiment:
            `{"json": "order_id"}`. Each `sent` event has it then, and `import-sends` judges by it. Only
            without a run, whose experiment says it.
        on_delivery: the `on_delivery` of the configuration of a `confluent_kafka.Producer`, which cannot be
            asked for it.

    Returns:
        A `JournaledProducer`, `JournaledAIOProducer`, `JournaledKafkaProducer` or
        `JournaledAIOKafkaProducer`.

    Raises:
        BadInput: no folder or no topic is named, the producer cannot be journaled, or the `id` is none, not
            that of the folder, or said by a run.
        JournalError: the folder cannot be written.
    """
    known = _known(producer)
    if on_delivery is not None and known is not _CONFLUENT:
        raise BadInput(
            "this producer has no on_delivery in its configuration",
            where="kafka_chaos.journaled",
            expected="on_delivery only for a confluent_kafka.Producer",
            found=f"{known.package}.{known.name}",
            next_step="give callbacks to the calls or futures of the client, which are kept as they are",
        )
    settings = None if known.settings_of is None else known.settings_of(producer)
    folder, target = open_folder(journal, topic, acks if settings is None else settings.acks, id=id)
    number, file = folder.claim(producer_id)
    own = OwnJournal(file, number, target, settings)
    if known is _CONFLUENT:
        return JournaledProducer(producer, folder, own, on_delivery)
    return known.wrapper(producer, folder, own)


@dataclass(frozen=True)
class _Known:
    """A class of producers: its name, the package that defines it, what wraps it, and what asks it for its
    settings (None: it cannot be asked)."""

    package: str
    name: str
    wrapper: type[JournaledClient]
    settings_of: Callable[[Any], ClientSettings] | None = None


_CONFLUENT = _Known("confluent_kafka", "Producer", JournaledProducer)
_KNOWN = (
    _CONFLUENT,
    _Known("confluent_kafka", "AIOProducer", JournaledAIOProducer),
    _Known("kafka", "KafkaProducer", JournaledKafkaProducer, kafka_python_producer.settings_of),
    _Known("aiokafka", "AIOKafkaProducer", JournaledAIOKafkaProducer, aiokafka_producer.settings_of),
)


def _known(producer: Any) -> _Known:
    """What is known of the producer's class, or of one that it extends."""
    ancestors = type(producer).__mro__
    if not isinstance(producer, JournaledClient) and not any(
        "Serializing" in one.__name__ for one in ancestors
    ):
        for ancestor in ancestors:
            package = ancestor.__module__.partition(".")[0]
            for known in _KNOWN:
                if (known.package, known.name) == (package, ancestor.__name__):
                    return known
        # confluent_kafka.Producer, which has another package, or what stands in for it: a wrapper of the
        # program's own, or of a library that traces calls.
        if all(callable(getattr(producer, method, None)) for method in ("produce", "poll", "flush")):
            return _CONFLUENT
    raise BadInput(
        "this producer cannot be journaled",
        where="kafka_chaos.journaled",
        expected=", ".join(f"{one.package}.{one.name}" for one in _KNOWN)
        + ", which are given values as bytes or text",
        found=type(producer).__name__,
        next_step="serialise the values first; for another client use kafka_chaos.Journal: "
        "docs/how-to/own-producer.md",
    )
