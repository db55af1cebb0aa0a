"""A consumer group that fails over: how it is started, what it reads, and MirrorMaker's settings."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from harness.model.errors import BadInput
from workloads.applications.built_in import failover
from workloads.applications.built_in.built_in import find
from workloads.applications.built_in.connect_settings import Clusters, aliases, failover_settings, mirror_of

pytestmark = pytest.mark.pure


class Place:
    """A partition's offset, as librdkafka's TopicPartition."""

    def __init__(self, topic: str, partition: int, offset: int = -1001) -> None:
        self.topic, self.partition, self.offset = topic, partition, offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.offset))


class Record:
    def __init__(self, partition: int, offset: int) -> None:
        self._at = partition, offset

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return "in"

    def partition(self) -> int:
        return self._at[0]

    def offset(self) -> int:
        return self._at[1]

    def value(self) -> bytes:
        return b"%d/%d" % self._at


class Consuming:
    """A consumer of a topic with two partitions; `stock` is what it can read."""

    def __init__(self, stored: dict[int, int], stock: Iterator[Record]) -> None:
        self.stored, self.stock = stored, stock
        self.assigned: list[Place] = []
        self.commits: list[list[Place]] = []
        self.paused = False

    def list_topics(self, topic: str, timeout: float) -> Any:  # noqa: ARG002
        found = type("Found", (), {"error": None, "partitions": {1: None, 0: None}})
        return type("Listed", (), {"topics": {topic: found}})

    def committed(self, places: list[Place], timeout: float) -> list[Place]:  # noqa: ARG002
        return [Place(one.topic, one.partition, self.stored.get(one.partition, -1001)) for one in places]

    def commit(self, offsets: list[Place], asynchronous: bool) -> None:
        assert not asynchronous
        self.commits.append(offsets)

    def assign(self, places: list[Place]) -> None:
        self.assigned = places

    def assignment(self) -> list[Place]:
        return self.assigned

    def pause(self, places: list[Place]) -> None:
        self.paused = places == self.assigned

    def consume(self, count: int, timeout: float) -> list[Record]:  # noqa: ARG002
        return [] if self.paused else [one for _, one in zip(range(count), self.stock, strict=False)]


@pytest.fixture
def consuming(monkeypatch: pytest.MonkeyPatch) -> Consuming:
    made = Consuming({}, (Record(number % 2, number // 2) for number in range(1000)))
    monkeypatch.setattr(failover, "Consumer", lambda _settings: made)
    monkeypatch.setattr(failover, "TopicPartition", Place)
    return made


def test_a_new_group_commits_the_beginning_before_it_reads(consuming: Consuming) -> None:
    reader = failover.Reader("b:1", "in", "g", io.BytesIO(), 5)
    reader.begin(reader.committed())
    assert consuming.commits == [[Place("in", 0, 0), Place("in", 1, 0)]]
    assert [place.partition for place in consuming.assigned] == [0, 1]


def test_it_goes_on_at_its_offsets_and_at_the_beginning_where_there_is_none(consuming: Consuming) -> None:
    consuming.stored = {1: 7}
    reader = failover.Reader("b:1", "in", "g", io.BytesIO(), None)
    reader.begin(reader.committed())
    assert not consuming.commits
    assert consuming.assigned == [Place("in", 0, failover.OFFSET_BEGINNING), Place("in", 1, 7)]


def test_it_reads_so_many_records_and_commits_what_it_has_written(consuming: Consuming) -> None:
    file = io.BytesIO()
    reader = failover.Reader("b:1", "in", "g", file, 150)
    reader.begin({0: 0})
    for _ in range(4):
        reader.step()
    lines = file.getvalue().splitlines()
    assert len(lines) == 150
    assert [base64.b64decode(one) for one in lines[:3]] == [b"0/0", b"1/0", b"0/1"]
    assert consuming.commits == [
        [Place("in", 0, 50), Place("in", 1, 50)],
        [Place("in", 0, 75), Place("in", 1, 75)],
    ]
    assert consuming.paused


def test_each_start_is_counted(tmp_path: Path) -> None:
    assert [failover.start_number(tmp_path) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("options", [{"offsets": "none"}, {"reads": []}, {"reads": [-1]}])
def test_what_it_cannot_do_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="does not take these options"):
        find("mirrormaker-failover").parsed(options)


def test_mirrormaker_looks_at_the_group_and_names_the_mirror_itself() -> None:
    clusters = Clusters("a:1", "b:1")
    made = failover_settings(clusters=clusters, topic="in", group="g", commit_ms=500)
    source, target = aliases("in")
    flow = f"{source}->{target}"
    assert mirror_of("in") == f"{source}.in"
    assert made[f"{flow}.groups"] == "g"
    assert made[f"{flow}.sync.group.offsets.enabled"] == "true"
    assert not any("transforms" in name for name in made)


def test_a_group_without_a_coordinator_at_first_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failover, "_LOOK_SECONDS", 0.0)
    answers: list[Any] = [KafkaException(KafkaError(KafkaError.NOT_COORDINATOR)), "found"]

    def ask() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, KafkaException):
            raise answer
        return answer

    assert failover.patiently(ask) == "found"
    monkeypatch.setattr(failover, "_SECONDS", -1.0)
    answers[:] = [KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))]
    with pytest.raises(KafkaException):
        failover.patiently(ask)
