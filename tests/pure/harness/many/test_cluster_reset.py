"""What of a used cluster is not as in a new one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.cluster.managed import ManagedCluster
from harness.many.cluster_reset import reset, unready
from harness.model.broker_views import TopologyView
from harness.model.run import VersionChange
from harness.spec.cluster import ClusterSpec
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


def test_a_cluster_that_has_another_version_now_is_started_anew() -> None:
    class Upgraded(ManagedCluster):
        def __init__(self) -> None:
            self.spec = ClusterSpec()
            self.changes = [VersionChange(at_ns=1, what="broker-1", before="4.3.1", after="4.4.0")]
            self.renewed = 0

        def renew(self) -> None:
            self.renewed += 1

    cluster = Upgraded()
    assert reset(cluster) == "started anew, since the run before it had changed its version"
    assert cluster.renewed == 1
