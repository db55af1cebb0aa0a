"""The Java consumer with confluent-kafka's calls: records, ends of partitions, callbacks, refusals."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from tests.support.fake_java import JavaError
from workloads.java import consumer as module
from workloads.java.consumer import JavaConsumer, with_access

pytestmark = pytest.mark.pure


class JavaList:
    """A collection of Java."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.values = list(values)

    def add(self, value: Any) -> None:
        self.values.append(value)

    def iterator(self) -> Any:
        left = list(self.values)
        return SimpleNamespace(hasNext=lambda: bool(left), next=lambda: left.pop(0))


class Place:
    """TopicPartition of Java."""

    def __init__(self, topic: str, number: int) -> None:
        self.where = topic, number

    def topic(self) -> str:
        return self.where[0]

    def partition(self) -> int:
        return self.where[1]


def absent() -> Any:
    return SimpleNamespace(isPresent=lambda: False)


def record(offset: int) -> Any:
    return SimpleNamespace(
        topic=lambda: "t",
        partition=lambda: 1,
        offset=lambda: offset,
        key=lambda: None,
        value=lambda: b"value",
        headers=lambda: JavaList([SimpleNamespace(key=lambda: "h", value=lambda: b"1")]),
        timestampType=lambda: SimpleNamespace(toString=lambda: "CreateTime"),
        timestamp=lambda: 17,
        leaderEpoch=absent,
    )


class KafkaConsumer:
    """The client, of which a test decides what it returns."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.properties = properties
        self.records: list[Any] = []
        self.at = 0
        self.end = 0
        self.listener: Any = None
        self.closed = False
        self.error: Exception | None = None

    def subscribe(self, topics: JavaList, listener: Any) -> None:
        assert topics.values == ["t"]
        self.listener = listener

    def poll(self, wait: int) -> JavaList:
        assert wait == 100
        if self.error is not None:
            raise self.error
        found, self.records = self.records, []
        return JavaList(found)

    def assignment(self) -> JavaList:
        return JavaList([Place("t", 1)])

    def endOffsets(self, *_: object) -> Any:
        return SimpleNamespace(get=lambda _: self.end)

    def beginningOffsets(self, *_: object) -> Any:
        return SimpleNamespace(get=lambda _: 0)

    def position(self, _: Place) -> int:
        return self.at

    def close(self) -> None:
        self.closed = True


class Jvm:
    """A JVM with that client."""

    made: KafkaConsumer
    refuses: Exception | None = None
    closed = False

    def __init__(self) -> None:
        self.put: dict[str, str] = {}
        kafka = SimpleNamespace(
            clients=SimpleNamespace(consumer=SimpleNamespace(KafkaConsumer=self._make)),
            common=SimpleNamespace(
                TopicPartition=Place, serialization=SimpleNamespace(ByteArrayDeserializer=object)
            ),
        )
        self.packages = SimpleNamespace(
            java=SimpleNamespace(
                util=SimpleNamespace(
                    HashMap=lambda: SimpleNamespace(put=self.put.__setitem__), ArrayList=JavaList
                ),
                time=SimpleNamespace(Duration=SimpleNamespace(ofMillis=int)),
            ),
            org=SimpleNamespace(apache=SimpleNamespace(kafka=kafka)),
        )

    def _make(self, *_: object) -> KafkaConsumer:
        if self.refuses is not None:
            raise self.refuses
        self.made = KafkaConsumer(self.put)
        return self.made

    def accept_callbacks(self) -> None: ...

    def close(self) -> None:
        self.closed = True


CONFIG = {"group.id": "g", "enable.auto.commit": True, "jar": "a.jar", "access": {"ssl": "1"}}


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> Jvm:
    found = Jvm()
    monkeypatch.setattr(module, "Jvm", lambda _: found)
    monkeypatch.setattr(module, "_END_SECONDS", 0.0)
    return found


def offsets(messages: list[Message]) -> list[tuple[int | None, bool]]:
    """(offset, whether it is the end of the partition)."""
    found = []
    for one in messages:
        error = one.error()
        assert error is None or error.code() == KafkaError._PARTITION_EOF
        found.append((one.offset(), error is not None))
    return found


def test_it_gets_java_s_values_and_its_access(jvm: Jvm) -> None:
    JavaConsumer({**CONFIG, "on_commit": print, "stats_cb": print})
    assert jvm.put == {"group.id": "g", "enable.auto.commit": "true", "ssl": "1"}
    made = with_access(lambda config, **named: (config, named), Path("b.jar"), {"x": "y"})
    assert made({"a": 1}, logger=None) == ({"a": 1, "jar": "b.jar", "access": {"x": "y"}}, {"logger": None})


def test_records_then_each_end_once(jvm: Jvm) -> None:
    consumer = JavaConsumer(CONFIG)
    jvm.made.records = [record(3), record(4)]
    (first, _) = found = consumer.consume(10, 0.1)
    assert offsets(found) == [(3, False), (4, False)]
    assert (first.value(), first.headers(), first.timestamp()) == (b"value", [("h", b"1")], (1, 17))
    jvm.made.at, jvm.made.end = 4, 5
    assert consumer.consume(10, 0.1) == []
    jvm.made.at = 5
    assert offsets(consumer.consume(10, 0.1)) == [(5, True)]
    assert consumer.consume(10, 0.1) == []
    jvm.made.at = jvm.made.end = 6
    assert offsets(consumer.consume(10, 0.1)) == [(6, True)]
    assert consumer.get_watermark_offsets(TopicPartition("t", 1), timeout=1.0) == (0, 6)
    consumer.close()
    assert jvm.made.closed
    assert jvm.closed


def test_rebalances_call_back_and_ends_are_told_again(jvm: Jvm) -> None:
    consumer = JavaConsumer(CONFIG)
    seen: list[tuple[str, list[int]]] = []

    def take(name: str) -> Any:
        return lambda who, places: seen.append((name, [one.partition for one in places if who is consumer]))

    consumer.subscribe(["t"], on_assign=take("on"), on_revoke=take("off"), on_lost=take("lost"))
    assert offsets(consumer.consume(1, 0.1)) == [(0, True)]
    listener = jvm.made.listener
    listener.onPartitionsRevoked(JavaList())
    listener.onPartitionsRevoked(JavaList([Place("t", 1)]))
    listener.onPartitionsAssigned(JavaList())
    listener.onPartitionsAssigned(JavaList([Place("t", 1)]))
    listener.onPartitionsLost(JavaList([Place("t", 1)]))
    assert seen == [("off", [1]), ("on", []), ("on", [1]), ("lost", [1])]
    assert offsets(consumer.consume(1, 0.1)) == [(0, True)], "a new assignment begins anew"


def test_java_s_words_are_told(jvm: Jvm) -> None:
    consumer = JavaConsumer(CONFIG)
    jvm.made.error = JavaError("org.apache.kafka.common.errors.FencedInstanceIdException", "fenced")
    with pytest.raises(KafkaException, match="FencedInstanceIdException: fenced"):
        consumer.consume(1, 0.1)
    why = SimpleNamespace(getMessage=lambda: "the reason")
    jvm.refuses = JavaError("org.apache.kafka.common.KafkaException", "Failed to construct", why)
    with pytest.raises(KafkaException, match=r"Failed to construct \(the reason\)"):
        JavaConsumer(CONFIG)
    assert jvm.closed, "a client that was refused leaves no JVM"
