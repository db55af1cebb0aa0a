"""When faults end that have to wait for each other, and how long is written therefore."""

from __future__ import annotations

import pytest

from faults.restart import Restart
from faults.targets.target_context import ClusterShape
from harness.lab.explore.menu import seconds_of
from harness.lab.explore.trial import Trial, TrialFault
from harness.lab.explore.waiting import BACK_SECONDS, DueFault, last_end
from tests.support.fake_explore_backend import menu_of

pytestmark = pytest.mark.pure


def kill(at: float, lasting: float, downs: int = 1) -> DueFault:
    return DueFault(at, lasting, downs=downs)


@pytest.mark.parametrize(
    ("faults", "most", "end"),
    [
        ([], 1, 0.0),
        ([kill(2, 3)], 1, 5.0),
        ([kill(2, 3), kill(4, 3)], None, 7.0),
        ([kill(2, 3), kill(4, 3)], 2, 7.0),
        # The second begins when the first broker is back.
        ([kill(2, 3), kill(4, 3)], 1, 5.0 + BACK_SECONDS + 3.0),
        ([kill(2, 3), kill(40, 3)], 1, 43.0),
        ([kill(2, 3), kill(4, 3), kill(4.5, 1)], 1, 5.0 + 2 * BACK_SECONDS + 3.0 + 1.0),
        # Two at once, then whoever is back first makes room.
        ([kill(2, 3), kill(2, 9), kill(4, 1)], 2, 5.0 + BACK_SECONDS + 1.0),
        # One that needs both waits for both, and is not overtaken by one that needs one.
        ([kill(2, 3), kill(3, 1, downs=2), kill(4, 1)], 2, 5.0 + 2 * BACK_SECONDS + 1.0 + 1.0),
        # More than may ever be down begins alone.
        ([kill(2, 3), kill(3, 1, downs=3)], 2, 5.0 + BACK_SECONDS + 1.0),
        # What takes no broker down waits for nothing.
        ([kill(2, 3), kill(3, 4, downs=0)], 1, 7.0),
        ([DueFault(2, 1, takes=24, downs=1), kill(3, 1)], 1, 27.0 + BACK_SECONDS + 1.0),
    ],
)
def test_when_the_last_fault_has_ended(faults: list[DueFault], most: int | None, end: float) -> None:
    assert last_end(faults, most) == pytest.approx(end)
    assert last_end(reversed(faults), most) == pytest.approx(end)


def test_a_schedule_is_written_until_a_fault_that_waits_has_ended() -> None:
    two = Trial(
        faults=(
            TrialFault(name="kill-leader", at=2, lasting=4),
            TrialFault(name="kill-leader", at=3, lasting=2),
        )
    )
    assert seconds_of(menu_of(at_most_down=2), two) == pytest.approx(6 + 2)
    assert seconds_of(menu_of(at_most_down=1), two) == pytest.approx(6 + BACK_SECONDS + 2 + 2)
    assert seconds_of(menu_of(at_most_down=1), Trial(faults=two.faults[:1], rest=0.5)) == pytest.approx(6.5)


def test_a_rolling_restart_takes_longer_with_more_nodes() -> None:
    shape = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
    one = Restart.model_validate({"target": {"leader": 0}}).seconds_to_effect(shape)
    assert one > 0
    assert Restart().seconds_to_effect(shape) == 3 * one
    # With a version it is the turn of the controllers, too.
    assert Restart(version="4.4.0").seconds_to_effect(shape) == 4 * one
    assert Restart.model_validate({"target": "controllers"}).seconds_to_effect(shape) == one
