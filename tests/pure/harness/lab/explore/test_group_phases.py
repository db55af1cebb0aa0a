"""What consumer groups and share groups were doing when a fault hit."""

from __future__ import annotations

from typing import Any

import pytest

from harness.lab.explore.phases import GroupEvents, ShareMembers

pytestmark = pytest.mark.pure


def owner(at: int, reader: str, event: str, partition: int = 0) -> dict[str, Any]:
    return {"at_ns": at, "reader": reader, "event": event, "partition": partition}


def answer(at: int, broker: int, error: str | None = None, source: str = "fetch") -> dict[str, Any]:
    return {"at_ns": at, "group": "g", "broker": broker, "error": error, "source": source}


MOVES = [
    owner(30, "g-1", "assigned"),
    owner(10, "g-0", "assigned"),
    owner(12, "h-0", "assigned"),
    owner(20, "g-0", "revoked"),
    owner(40, "g-0", "assigned"),
    owner(41, "g-1", "lost"),
]


@pytest.mark.parametrize(
    ("at", "rebalancing"), [(5, False), (15, False), (20, True), (29, True), (35, False), (50, False)]
)
def test_a_group_rebalances_while_a_partition_has_no_owner(at: int, rebalancing: bool) -> None:
    found = GroupEvents(MOVES, [])
    assert found.rebalancing(at) is rebalancing
    assert not found.coordinator_moving(at, frozenset())


@pytest.mark.parametrize(
    ("answers", "silent", "moving"),
    [
        ([answer(10, 1)], set(), False),
        ([answer(10, 1)], {1}, True),
        ([answer(10, 1)], {2}, False),
        ([answer(10, 1), answer(12, 1, "NOT_COORDINATOR")], set(), True),
        ([answer(12, 2), answer(10, 1, "NOT_COORDINATOR")], {1}, False),
        ([answer(10, 1), answer(99, 1, "NOT_COORDINATOR")], set(), False),
        ([answer(10, 1), answer(12, 2, source="logged")], {2}, False),
        ([], {1, 2, 3}, False),
    ],
)
def test_a_coordinator_moves_when_the_last_one_is_silent_or_refuses(
    answers: list[dict[str, Any]], silent: set[int], moving: bool
) -> None:
    found = GroupEvents([], answers)
    assert found.coordinator_moving(50, frozenset(silent)) is moving
    assert not found.rebalancing(50)


def member(at: int, event: str, name: str = "q-0", session: int = 0) -> dict[str, Any]:
    return {"at_ns": at, "member": name, "session": session, "event": event}


def given(at: int, name: str = "q-0", session: int = 0) -> dict[str, Any]:
    return {"acquired_ns": at, "member": name, "session": session}


LIVES = ShareMembers(
    [
        member(30, "killed"),
        member(10, "joined"),
        member(12, "joined", "q-1"),
        member(15, "error"),
        member(31, "joined", session=1),
        {"at_ns": 33, "member": None, "session": None, "event": "altered"},
        member(50, "paused", "q-1"),
        member(60, "resumed", "q-1"),
    ],
    [given(22), given(20), given(21, "q-1"), given(40, session=1), given(45, session=1)],
)


@pytest.mark.parametrize(
    ("at", "rebalancing"),
    [
        (9, False),
        (11, True),
        (20, True),
        (21, False),
        (30, True),
        (39, True),
        (40, False),
        (55, True),
        (60, False),
    ],
)
def test_a_share_group_rebalances_while_a_member_takes_nothing(at: int, rebalancing: bool) -> None:
    assert LIVES.rebalancing(at) is rebalancing
    assert not GroupEvents([], []).coordinator_moving(at, frozenset())
