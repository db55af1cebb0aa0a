"""The offsets that groups have committed for a topic, against an admin client that answers from a table."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from harness.cluster.topic_admin import TopicAdmin
from harness.model.errors import BadInput, ClusterError
from tests.support.offsets_of_groups import OffsetsOfGroups

pytestmark = pytest.mark.pure

Offsets = dict[str, dict[str, dict[int, int | KafkaError]]]
"""What each group has committed, by topic and partition."""


class _Client:
    def __init__(self, groups: Offsets) -> None:
        self._groups = groups

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(SimpleNamespace(valid=[SimpleNamespace(group_id=name) for name in self._groups]))
        return done

    def list_topics(self, **_: Any) -> Any:
        return SimpleNamespace(topics={"t": SimpleNamespace(partitions={0: None, 1: None, 2: None})})


def _admin(monkeypatch: pytest.MonkeyPatch, groups: Offsets) -> TopicAdmin:
    monkeypatch.setattr("harness.cluster.topic_admin.AdminClient", lambda _: _Client(groups))
    told = OffsetsOfGroups(lambda group, topic: groups[group].get(topic, {}))
    monkeypatch.setattr("harness.cluster.topic_admin.Consumer", told)
    return TopicAdmin("127.0.0.1:1")


def test_groups_with_offsets_of_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = _admin(
        monkeypatch,
        {
            "orders": {"t": {0: 7, 1: -1001}, "u": {2: 9}},
            "at-the-start": {"t": {2: 0}},
            "elsewhere": {"u": {0: 5}},
            "none": {},
        },
    )
    assert admin.committed("t") == {"orders": {0: 7}, "at-the-start": {2: 0}}
    assert admin.committed("no-such-topic") == {}


def test_a_group_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE)
    with pytest.raises(ClusterError, match="committed offsets could not be read") as caught:
        _admin(monkeypatch, {"orders": {"t": {1: gone}}}).committed("t")
    assert caught.value.where == "group orders"


class _Answers:
    """An admin client of a cluster with some topics, whose controller answers with an error."""

    def __init__(self, topics: set[str], error: int) -> None:
        self._topics = topics
        self._error = error

    def list_topics(self, **_: Any) -> Any:
        return SimpleNamespace(topics=dict.fromkeys(self._topics))

    def create_topics(self, new: list[Any], **_: Any) -> dict[str, Future[None]]:
        return {new[0].topic: self._failed()}

    def delete_topics(self, names: list[str], **_: Any) -> dict[str, Future[None]]:
        return {names[0]: self._failed()}

    def _failed(self) -> Future[None]:
        done: Future[None] = Future()
        done.set_exception(KafkaException(KafkaError(self._error)))
        return done


def _answering(monkeypatch: pytest.MonkeyPatch, topics: set[str], error: int) -> TopicAdmin:
    monkeypatch.setattr("harness.cluster.topic_admin.AdminClient", lambda _: _Answers(topics, error))
    return TopicAdmin("127.0.0.1:1")


def _create(admin: TopicAdmin) -> None:
    admin.create("t", partitions=1, replication_factor=1, config={})


def test_a_request_that_was_forwarded_twice_has_created_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    _create(_answering(monkeypatch, set(), KafkaError.TOPIC_ALREADY_EXISTS))


def test_a_topic_that_was_there_before_is_not_taken_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match="could not be created") as caught:
        _create(_answering(monkeypatch, {"t"}, KafkaError.TOPIC_ALREADY_EXISTS))
    assert caught.value.found is not None
    assert "TOPIC_ALREADY_EXISTS" in caught.value.found


def test_a_topic_is_created_once_the_brokers_are_no_longer_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cluster.topic_admin._AGAIN_SECONDS", 0.0)
    words = "Unable to replicate the partition 3 time(s): All brokers are currently fenced."
    refusal = KafkaException(KafkaError(KafkaError.INVALID_REPLICATION_FACTOR, words))
    admin = _answering(monkeypatch, set(), KafkaError.INVALID_REPLICATION_FACTOR)
    answers: list[Future[None]] = [Future() for _ in range(3)]
    for refused in answers[:2]:
        refused.set_exception(refusal)
    answers[2].set_result(None)
    monkeypatch.setattr(_Answers, "create_topics", lambda *_, **__: {"t": answers.pop(0)})
    _create(admin)
    assert answers == []
    monkeypatch.setattr("harness.cluster.topic_admin._SECONDS", 0.0)
    answers.append(Future())
    answers[0].set_exception(refusal)
    with pytest.raises(BadInput, match="could not be created"):
        _create(admin)


def test_other_refusals_of_a_new_topic_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match="could not be created"):
        _create(_answering(monkeypatch, set(), KafkaError.REQUEST_TIMED_OUT))


def test_deleting_a_missing_topic_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    _answering(monkeypatch, set(), KafkaError.UNKNOWN_TOPIC_OR_PART).delete("t")
    with pytest.raises(ClusterError, match="could not be deleted"):
        _answering(monkeypatch, {"t"}, KafkaError.REQUEST_TIMED_OUT).delete("t")
