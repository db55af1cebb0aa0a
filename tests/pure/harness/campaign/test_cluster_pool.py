"""Matrices on clusters side by side, on paper."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from harness.campaign.cluster_pool import ClusterSlot, room, side_by_side
from harness.matrix.command import executed, planned
from harness.matrix.result import MatrixResult
from harness.matrix.store import MatrixStore
from harness.model.errors import ClusterError
from tests.pure.harness.matrix.test_runner import QUIET, resumed, runs_made, write
from tests.support.fake_backend import FakeBackend

pytestmark = pytest.mark.pure
GIB = 1 << 30


def begun(tmp_path: Path, rig: FakeBackend, clusters: int) -> tuple[MatrixStore, MatrixResult]:
    store = MatrixStore.created(tmp_path / "results", "small")
    plan = planned(write(tmp_path), None, QUIET, 5)
    return store, executed(plan, store, "kafka-chaos matrix small.yaml", rig, clusters)


@pytest.mark.parametrize(
    ("cores", "gib", "clusters"), [(1, 2, 1), (2, 24, 1), (8, 24, 2), (64, 24, 4), (16, 256, 4)]
)
def test_room(cores: int, gib: int, clusters: int) -> None:
    assert room(cores, gib * GIB) == clusters
    assert room() >= 1


def test_two_clusters_share_the_runs_and_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    alone = FakeBackend(tmp_path / "one" / "log")
    both = FakeBackend(tmp_path / "two" / "log", clusters=2, seconds=0.05)
    _, expected = begun(tmp_path / "one", alone, 1)
    _, result = begun(tmp_path / "two", both, 2)
    assert (alone.most_up, both.most_up) == (1, 2)
    assert both.up == 0
    assert runs_made(both) == runs_made(alone)
    for arm, same in zip(result.arms, expected.arms, strict=True):
        assert arm.name == same.name
        assert arm.figures is not None
        assert same.figures is not None
        assert arm.figures.with_loss == same.figures.with_loss


def test_an_interrupt_in_one_lane_ends_the_other_and_keeps_no_broken_run(tmp_path: Path) -> None:
    rig = FakeBackend(tmp_path / "log", clusters=2, seconds=0.1, interrupt_at=3)
    with pytest.raises(KeyboardInterrupt):
        begun(tmp_path, rig, 2)
    assert rig.up == 0
    store = MatrixStore(next((tmp_path / "results").iterdir()))
    rig.seconds = 0
    result = resumed(store, rig)
    assert result.ended == "all runs made"
    assert all(arm.figures is not None and arm.figures.runs == 3 for arm in result.arms)
    assert result.exit_code() == 0


def test_a_run_that_breaks_gets_its_lane_a_new_cluster(tmp_path: Path) -> None:
    rig = FakeBackend(tmp_path / "log", clusters=2, seconds=0.05)
    plan = planned(write(tmp_path), None, QUIET, 5)
    rig.break_ = [plan.arms[0].name]
    store = MatrixStore.created(tmp_path / "results", "small")
    result = executed(plan, store, "", rig, 2)
    assert len(rig.starts) == 3
    assert sum(arm.figures.left_out for arm in result.arms if arm.figures is not None) == 1


def test_a_lane_takes_what_fits_its_cluster_first(tmp_path: Path) -> None:
    store = MatrixStore.created(tmp_path, "small")
    lanes = [ClusterSlot(FakeBackend(tmp_path / "log"), store) for _ in range(2)]
    lanes[0].up, lanes[1].up = "a", "b"
    meet = threading.Barrier(2, timeout=20)
    took: list[tuple[str | None, str]] = []

    def one(lane: ClusterSlot, name: str) -> bool:
        took.append((lane.up, name))
        meet.wait()
        return True

    assert side_by_side(lanes, ["b1", "b2", "a1", "a2"], lambda name: name[0], one)
    assert sorted(took) == [("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")]


def test_a_spent_budget_and_a_failure_end_all_lanes(tmp_path: Path) -> None:
    store = MatrixStore.created(tmp_path, "small")
    lanes = [ClusterSlot(FakeBackend(tmp_path / "log"), store) for _ in range(2)]
    assert not side_by_side(lanes, list("abcdef"), str, lambda _, name: name != "a")

    def breaks(_: ClusterSlot, name: str) -> bool:
        raise ClusterError(f"{name} broke")

    with pytest.raises(ClusterError, match="broke"):
        side_by_side(lanes, list("abcdef"), str, breaks)
    assert all(lane.ended for lane in lanes)
