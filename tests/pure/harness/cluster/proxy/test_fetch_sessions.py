"""What Fetch requests ask for, within sessions and without."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cluster.proxy import bodies
from harness.cluster.proxy.fetch_sessions import FetchSessions, within_session
from harness.model.request_rules import NamedPartition
from tests.support.kafka_frames import answer, request

pytestmark = pytest.mark.pure

A, B = NamedPartition("a", None, 0), NamedPartition("b", None, 1)


def named(*partitions: NamedPartition) -> tuple[dict[str, Any], ...]:
    return tuple({"topic": one.topic, "partitions": ({"partition": one.partition},)} for one in partitions)


def asked(
    *partitions: NamedPartition, session: int = 0, epoch: int = 0, forgotten: tuple[NamedPartition, ...] = ()
) -> Any:
    gone = tuple({"topic": one.topic, "partitions": (one.partition,)} for one in forgotten)
    fields = {"session_id": session, "session_epoch": epoch, "forgotten_topics_data": gone}
    return bodies.read_request(1, 12, request("Fetch", 12, topics=named(*partitions), **fields))


def began(sessions: FetchSessions, *partitions: NamedPartition, session: int) -> None:
    wanted = sessions.named_by(asked(*partitions))
    assert wanted is not None
    sessions.begun(wanted, bodies.read_answer(1, 12, answer("Fetch", 12, session_id=session)))


def partitions(found: frozenset[NamedPartition] | None) -> set[NamedPartition]:
    return {one for one in found or () if one.partition is not None}


def test_without_a_session_a_request_names_all() -> None:
    assert partitions(FetchSessions().named_by(asked(A, B))) == {A, B}
    assert partitions(FetchSessions().named_by(asked(A, epoch=-1))) == {A}


def test_within_a_session_what_it_began_with_and_what_has_changed() -> None:
    sessions = FetchSessions()
    began(sessions, A, session=7)
    assert partitions(sessions.named_by(asked(session=7, epoch=1))) == {A}
    assert partitions(sessions.named_by(asked(B, session=7, epoch=2))) == {A, B}
    assert partitions(sessions.named_by(asked(session=7, epoch=3, forgotten=(A,)))) == {B}
    assert partitions(sessions.named_by(asked(session=7, epoch=4))) == {B}


def test_a_session_that_began_before_is_not_known() -> None:
    sessions = FetchSessions()
    began(sessions, A, session=7)
    assert sessions.named_by(asked(session=8, epoch=1)) is None


def test_an_answer_without_a_session_begins_none() -> None:
    sessions = FetchSessions()
    began(sessions, A, session=0)
    assert sessions.named_by(asked(session=0, epoch=1)) == frozenset()


def test_which_requests_go_on_with_a_session() -> None:
    assert within_session(asked(session=7, epoch=1))
    assert not within_session(asked(A))
    assert not within_session(asked(A, session=7, epoch=0))
    assert not within_session(asked(A, session=7, epoch=-1))
