"""R21: ZooKeeper and KRaft side by side."""

from __future__ import annotations

from harness.claims.catalog import r12, r13, r16
from harness.claims.clusters import ZOOKEEPER
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.suite.model import Claim, ClaimArm, Role

# As few as show each of the three: R12, R13 and R16 have the rest.
_WHICH = (
    (r12.CLAIM, "r12-cut", ("acks=1", "acks=all")),
    (r13.CLAIM, "r13-answers", ("plain", "idempotent")),
    (r16.CLAIM, "r16-last-in-sync", ("unclean=false", "unclean=true")),
)


def _trials(role: Role, cluster: ClusterSpec | None) -> tuple[ClaimArm, ...]:
    """The same arms and expectations: as they are, or on a cluster and under a name of their own."""
    moved: dict[str, Experiment] = {}
    trials = []
    for claim, name, arms in _WHICH:
        for trial in claim.trials:
            if trial.experiment.name == name and trial.arm in arms:
                own = {"name": f"r21-{name}", "cluster": cluster} if cluster else {}
                experiment = moved.setdefault(name, trial.experiment.model_copy(update=own))
                trials.append(ClaimArm(role, experiment, trial.arm, trial.expects))
    return tuple(trials)


CLAIM = Claim(
    id="R21",
    title="The same holds with ZooKeeper controllers and with KRaft",
    words="What replication loses, duplicates and keeps does not hang on who keeps the metadata: it is the "
    "same with ZooKeeper and with KRaft.",
    set_up="Of R12 the cut with acks=1 and acks=all, of R13 the lost answers with and without idempotence, "
    "of R16 both arms, on Kafka 3.9.2 with ZooKeeper. Control: the same on KRaft, which must come out the "
    "same; each of the three has arms that come out the other way.",
    today="ZooKeeper is gone since Kafka 4.0 (KIP-833): the claim is about clusters that have not moved yet.",
    only="3.9.2 and 4.3.1",
    trials=(
        *_trials(Role.CLAIM, ZOOKEEPER),
        *_trials(Role.CONTROL, None),
    ),
)
