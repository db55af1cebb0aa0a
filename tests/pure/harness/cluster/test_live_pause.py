"""A node that the engine cannot freeze at once."""

from __future__ import annotations

import pytest
from docker.errors import APIError

from harness.cluster import node_control
from harness.cluster.live import LiveCluster
from harness.cluster.node_plan import Node
from harness.model.errors import ClusterError

pytestmark = pytest.mark.pure
NODE = Node(1, "broker-1", True, False, 20001, {})
BUSY = APIError("500 Server Error: OCI runtime pause failed: unable to freeze: unknown")


class Frozen:
    """A container whose pause raises what is left, then freezes."""

    def __init__(self, *raised: Exception) -> None:
        self.left = list(raised)
        self.calls = 0

    def pause(self) -> None:
        self.calls += 1
        if self.left:
            raise self.left.pop(0)


def cluster(container: Frozen, monkeypatch: pytest.MonkeyPatch) -> LiveCluster:
    made = LiveCluster()
    made.nodes = [NODE]
    monkeypatch.setattr(made, "_container", lambda _: container)
    return made


def test_a_node_that_does_not_freeze_at_once_is_frozen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    container = Frozen(BUSY, BUSY)
    cluster(container, monkeypatch).pause(NODE.id)
    assert container.calls == 3


def test_an_error_that_waiting_does_not_solve_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    container = Frozen(APIError("409 Conflict: the container is not running"))
    with pytest.raises(ClusterError, match="could not be paused"):
        cluster(container, monkeypatch).pause(NODE.id)
    assert container.calls == 1


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_control, "_FREEZE_SECONDS", 0.5)
    container = Frozen(*[BUSY] * 100)
    with pytest.raises(ClusterError, match="unable to freeze"):
        cluster(container, monkeypatch).pause(NODE.id)
    assert 1 < container.calls < 100
