"""Arms of one run: a broker has recovered when the topics of all of them have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from faults.restart import Restart
from faults.shared.fault_spec import InjectionContext
from faults.shared.waiting import await_rejoined
from harness.cluster.managed import ManagedCluster
from harness.model.broker_views import TopologyView
from harness.model.errors import FaultError
from harness.run.experiment_run import ExperimentRun
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from tests.support.builders.views import seen, state, view
from tests.support.fake_cluster import FakeCluster, context

pytestmark = pytest.mark.pure


@dataclass
class Behind(FakeCluster):
    """Broker 1 is in the ISR of every topic but these."""

    views: list[TopologyView] = field(default_factory=list)
    late: tuple[str, ...] = ("late",)

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:  # noqa: ARG002
        states = [state(topic=one, leader=2, isr=(2, 3) if one in self.late else (1, 2, 3)) for one in topics]
        return view(*(seen(number, *states) for number in (1, 2, 3)))

    def started_ns(self, number: int) -> int:
        return number


def back(at: InjectionContext) -> None:
    await_rejoined(at, (1,))


def rolled(at: InjectionContext) -> None:
    Restart().aim(at).apply(at)


@pytest.mark.parametrize("act", [back, rolled])
def test_the_topics_beside_are_waited_for(
    act: Callable[[InjectionContext], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.shared.waiting.REJOIN_SECONDS", 0.2)
    monkeypatch.setattr("faults.restart.REJOIN_SECONDS", 0.2)
    at = replace(context(Behind()), beside=("late",))
    with pytest.raises(FaultError, match="is not in the ISR"):
        act(at)


def test_without_them_it_is_back() -> None:
    back(context(Behind()))
    back(replace(context(Behind()), beside=("other",)))


def test_no_topic_is_named_twice() -> None:
    at = context(Behind())
    assert replace(at, topic="b", beside=("a", "b", "c")).topics == ("b", "a", "c")


def in_a_run(**more: object) -> InjectionContext:
    """The context of a run: of two arms that go together, if nothing else is said."""
    arms = [{"name": name, "producer": {"acks": acks}} for name, acks in (("safe", "all"), ("fast", 1))]
    steps = [{"write": {"name": "w", "records": 1}}]
    together = {"name": "both", "title": "both", "together": True, "steps": steps, "arms": arms}
    experiment = Experiment.model_validate({**together, **more})
    folders = {Path(arm.name): arm for arm in experiment.arms}
    cluster = cast(ManagedCluster, SimpleNamespace(spec=ClusterSpec()))
    return ExperimentRun(cluster, experiment, folders, 1)._injection_context("stop-1")


def test_a_run_names_the_topics_that_its_processors_write_to() -> None:
    at = in_a_run(arms=[{"name": "one"}], together=False, workload={"process": {}})
    assert at.topics == (at.topic, f"{at.topic}-processed")


@pytest.mark.parametrize(("output", "there"), [({}, True), ({"cluster": {}}, False)])
def test_a_run_names_an_output_topic_of_its_own_cluster_only(output: dict[str, Any], there: bool) -> None:
    application = {"run": {"process": ["copy", "{output_bootstrap}"]}, "output": output}
    at = in_a_run(arms=[{"name": "one"}], together=False, application=application)
    assert at.topics == ((at.topic, f"{at.topic}-output") if there else (at.topic,))


def test_a_run_names_the_topics_of_all_its_arms() -> None:
    at = in_a_run()
    first, second = at.topics
    assert first == at.topic != second
    # A fault that is done to the second arm's topic waits for the first one's as well.
    assert replace(at, topic=second).topics == (second, first)
