"""Targets resolve against the newest belief, and refuse to match nothing."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from faults.targets import BrokerId, Followers, Leader, Target
from harness.model.errors import FaultError
from tests.pure.views import quiet, seen, silent, state, view

pytestmark = pytest.mark.pure


def test_leader_and_followers() -> None:
    assert Leader(leader=0).resolve(quiet(), "t") == (1,)
    assert Followers(followers=0).resolve(quiet(), "t") == (2, 3)
    assert BrokerId(broker=3).resolve(quiet(), "t") == (3,)


def test_the_highest_leader_epoch_is_believed() -> None:
    stale = view(seen(1, state(mark=10)), seen(2, state(leader=2, epoch=1, mark=10)), silent(3))
    assert Leader(leader=0).resolve(stale, "t") == (2,)


def test_followers_out_of_the_isr_are_followers_too() -> None:
    shrunk = view(*(seen(b, state(isr=(1,))) for b in (1, 2, 3)))
    assert Followers(followers=0).resolve(shrunk, "t") == (2, 3)


@pytest.mark.parametrize("target", [Leader(leader=5), Followers(followers=5), BrokerId(broker=9)])
def test_a_target_that_matches_nothing_is_refused(target: Leader | Followers | BrokerId) -> None:
    with pytest.raises(FaultError, match="matches no broker"):
        target.resolve(quiet(), "t")


def test_a_partition_without_a_leader_has_no_target() -> None:
    leaderless = view(*(seen(b, state(leader=-1)) for b in (1, 2, 3)))
    with pytest.raises(FaultError, match="no leader now"):
        Leader(leader=0).resolve(leaderless, "t")


def test_the_only_replica_has_no_followers() -> None:
    alone = view(*(seen(b, state(replicas=(1,), isr=(1,))) for b in (1, 2, 3)))
    with pytest.raises(FaultError, match="replication factor of 1"):
        Followers(followers=0).resolve(alone, "t")


def test_targets_are_read_from_one_key() -> None:
    read = TypeAdapter(Target).validate_python
    assert read({"leader": 0}) == Leader(leader=0)
    assert read({"broker": 2}) == BrokerId(broker=2)
    for bad in ({"leeder": 0}, {"leader": -1}, {"leader": 0, "broker": 1}, {}, "leader"):
        with pytest.raises(ValidationError):
            read(bad)
