"""The built-in cut-then-kill where a busy machine has time between the cut and the kill.

Its followers leave the ISR after replica.lag.time.max.ms, 6 s in the profile `fast`. A machine that is busy
with other tests may need longer to prove the cut, and then nobody can be elected. Here it is 30 s, as in most
claims.
"""

from __future__ import annotations

from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse
from tests.support.paths import ROOT

PATIENT = ClusterSpec(properties={"replica.lag.time.max.ms": "30000"})
_LONGER = (
    ("  profile: fast\n", "  profile: fast\n  properties: {replica.lag.time.max.ms: 30000}\n"),
    ("within: 10}", "within: 60}"),
    ("at_most: 1.5}", "at_most: 6}"),
    ("within: 1}", "within: 10}"),
)


def cut_then_kill_text() -> str:
    """The experiment's file with these times."""
    text = (ROOT / "harness" / "experiments" / "cut-then-kill.yaml").read_text()
    for shipped, longer in _LONGER:
        assert text.count(shipped) == 1, shipped
        text = text.replace(shipped, longer)
    return text


def cut_then_kill() -> Experiment:
    """The experiment with these times, for a cluster of `PATIENT`."""
    return parse(cut_then_kill_text(), "cut-then-kill")
