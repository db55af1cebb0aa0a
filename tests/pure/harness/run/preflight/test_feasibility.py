"""What this machine cannot do is refused before anything starts, with its place, unless it may be skipped."""

from __future__ import annotations

import pytest

from harness.model.errors import BadInput
from harness.run.preflight.feasibility import without_impossible_faults
from harness.run.preflight.kernel_probes import Capability
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse
from harness.spec.fault_index import located_faults

pytestmark = pytest.mark.pure

NO_FREEZER = (Capability("cgroup freezer", "pause", False, "read-only cgroups"),)
FREEZER = (Capability("cgroup freezer", "pause", True, "works"),)


def experiment(policy: str) -> Experiment:
    text = f"""
name: frozen
title: a pause
steps:
  - inject: {{pause: {{target: {{leader: 0}}}}, if_impossible: {policy}}}
  - write:
      name: all
      seconds: 5
      faults:
        - {{fault: {{kill: {{target: {{broker: 2}}}}}}, at: 1, for: 1}}
        - {{fault: {{pause: {{target: {{broker: 1}}}}}}, at: 3, for: 1, if_impossible: {policy}}}
arms: [{{name: one}}]
"""
    return parse(text, "frozen.yaml")


def test_what_is_possible_stays_as_it_is() -> None:
    asked = experiment("refuse")
    assert without_impossible_faults(asked, FREEZER) == (asked, ())
    assert without_impossible_faults(asked, ()) == (asked, ())


def test_the_refusal_says_where_and_why() -> None:
    with pytest.raises(BadInput, match="not possible on this machine") as caught:
        without_impossible_faults(experiment("refuse"), NO_FREEZER)
    told = str(caught.value)
    for words in ("frozen: steps[0].inject", "read-only cgroups", "if_impossible: skip"):
        assert words in told


def test_what_may_be_skipped_is_left_out_and_told() -> None:
    left, told = without_impossible_faults(experiment("skip"), NO_FREEZER)
    (step,) = left.steps
    assert step.write is not None
    assert len(step.write.faults) == 1
    assert [line.split(":")[0] for line in told] == ["steps[0].inject", "steps[1].write.faults[1].fault"]
    assert all("pause was skipped (cgroup freezer: read-only cgroups)" in line for line in told)


def test_the_proxies_do_what_the_kernel_cannot() -> None:
    text = """
name: slow
title: slow links
steps:
  - inject: {latency: {target: {leader: 0}, delay_ms: 50}}
  - write:
      name: all
      seconds: 9
      faults:
        - random:
            menu: [{fault: {reorder: {target: {broker: 2}, percent: 5}}, for: 1}]
            every: 2
        - sequence:
            - {fault: {jitter: {target: {broker: 1}, delay_ms: 5, spread_ms: 1, by: kernel}}, for: 1,
               if_impossible: skip}
            - {fault: {kill: {target: {broker: 2}}}, for: 1}
arms: [{name: one}]
"""
    asked = parse(text, "slow.yaml")
    assert not asked.cluster.proxy
    left, told = without_impossible_faults(asked, (Capability("tc netem", "delay", False, "no qdisc"),))
    assert left.cluster.proxy
    found = [(one.fault.name(), one.fault.uses_proxy) for one in located_faults(left)]
    assert found == [("latency", True), ("reorder", True), ("kill", False)]
    assert told == ("steps[1].write.faults[1].sequence[0].fault: jitter was skipped (tc netem: no qdisc)",)
    assert without_impossible_faults(asked, (Capability("tc netem", "delay", True, "works"),)) == (asked, ())
