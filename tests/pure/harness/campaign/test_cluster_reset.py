"""What of a used cluster is not as in a new one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.campaign.cluster_reset import unready
from harness.model.broker_views import TopologyView
from tests.support.builders.views import quiet, seen, silent, state, view

pytestmark = pytest.mark.pure

WHOLE = tuple(seen(number, state()) for number in (1, 2, 3))


def problems(told: TopologyView) -> list[str]:
    return list(unready(told, (1, 2, 3)))


def test_a_cluster_as_good_as_new() -> None:
    assert problems(quiet()) == []
    assert problems(view(*(seen(number) for number in (1, 2, 3)))) == [], "it has no topics of its own yet"


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (view(WHOLE[0], silent(2), WHOLE[2]), "broker 2 does not answer"),
        (view(replace(WHOLE[0], brokers=(1, 3)), *WHOLE[1:]), "broker 1 does not know broker [2]"),
        (view(*WHOLE[:2], seen(3, state(isr=(1, 2)))), "t-0: leader 1, ISR [1, 2]"),
        (view(*WHOLE[:2], seen(3, state(leader=2, epoch=1))), "brokers disagree on the leader of t-0"),
        (view(*(seen(number, state(leader=-1)) for number in (1, 2, 3))), "t-0: leader -1"),
    ],
)
def test_what_is_left_to_come(told: TopologyView, says: str) -> None:
    assert any(line.startswith(says) for line in problems(told)), problems(told)
