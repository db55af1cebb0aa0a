"""A view is settled only when all brokers agree and every replica has all records."""

from __future__ import annotations

import pytest

from harness.cluster.convergence import bounds_of, settle, unsettled_reason
from harness.model.broker_views import TopologyView
from harness.model.errors import ClusterError
from tests.support.builders.views import quiet, seen, silent, state, view

pytestmark = pytest.mark.pure


def test_a_quiet_cluster_is_settled() -> None:
    assert unsettled_reason(quiet(), "t", 1, 3) is None
    (bound,) = bounds_of(quiet(), "t", 1)
    assert (bound.log_start_offset, bound.end_offset, bound.leader) == (0, 10, 1)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (view(seen(1, state(mark=10)), seen(2, state()), silent(3)), "broker 3 does not answer"),
        (view(seen(1, state(mark=10)), seen(2, state()), seen(3)), "broker 3 does not know it"),
        (
            view(seen(1, state(mark=10)), seen(2, state()), seen(3, state(leader=3, epoch=1, mark=10))),
            "brokers disagree",
        ),
        (view(seen(1, state(mark=10)), seen(2, state()), seen(3, state(epoch=1))), "brokers disagree"),
        (
            view(*(seen(b, state(isr=(1, 2), mark=10 if b == 1 else None)) for b in (1, 2, 3))),
            "expected 3 replicas",
        ),
        (
            view(seen(1, state(mark=10)), seen(2, state(isr=(1, 2))), seen(3, state())),
            "ISR [1, 2] by broker 2, expected 3 replicas",
        ),
        (view(seen(1, state(mark=9)), seen(2, state()), seen(3, state())), "high watermark 9"),
        (view(seen(1, state(mark=10)), seen(2, state(end=9)), seen(3, state())), "{1: 10, 2: 9, 3: 10}"),
        (view(seen(1, state(mark=10)), seen(2, state(end=None)), seen(3, state())), "2: None"),
        (view(seen(1, state()), seen(2, state()), seen(3, state())), "does not report"),
        (view(*(seen(b, state(leader=-1)) for b in (1, 2, 3))), "no leader"),
    ],
)
def test_what_proves_nothing(broken: TopologyView, says: str) -> None:
    why = unsettled_reason(broken, "t", 1, 3)
    assert why is not None
    assert says in why


class Playback:
    """Answers with one view after the other, the last for ever."""

    def __init__(self, *views: TopologyView) -> None:
        self.views = list(views)

    def view(self, topics: tuple[str, ...], timeout: float = 1.0) -> TopologyView:  # noqa: ARG002
        return self.views.pop(0) if len(self.views) > 1 else self.views[0]


def test_two_equal_views_in_a_row_are_needed() -> None:
    moving = view(seen(1, state(mark=11, end=11)), seen(2, state(end=11)), seen(3, state(end=11)))
    (bound,) = settle(Playback(quiet(), moving, moving), "t", 1, 3, seconds=5)
    assert bound.end_offset == 11


def test_a_cluster_that_never_settles_says_what_was_missing() -> None:
    with pytest.raises(ClusterError, match="broker 3 does not answer"):
        settle(Playback(view(seen(1, state(mark=10)), seen(2, state()), silent(3))), "t", 1, 3, seconds=0.3)
