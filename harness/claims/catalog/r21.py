"""R21: ZooKeeper and KRaft side by side."""

from __future__ import annotations

from harness.claims.catalog import r12, r13, r16
from harness.claims.clusters import ZOOKEEPER
from harness.claims.model import Claim
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.suite.model import Role, SuiteArm

# The smallest set of arms that shows each of the three; R12, R13 and R16 have the others.
_WHICH = (
    (r12.CLAIM, "r12-cut", ("acks=1", "acks=all")),
    (r13.CLAIM, "r13-answers", ("plain", "idempotent")),
    (r16.CLAIM, "r16-last-in-sync", ("unclean=false", "unclean=true")),
)


def _arms(role: Role, cluster: ClusterSpec | None) -> tuple[SuiteArm, ...]:
    """The same arms and expectations: as they are, or on another cluster in experiments of their own."""
    moved: dict[str, Experiment] = {}
    arms = []
    for claim, name, wanted in _WHICH:
        for one in claim.arms:
            if one.experiment.name == name and one.arm in wanted:
                own = {"name": f"r21-{name}", "cluster": cluster} if cluster else {}
                experiment = moved.setdefault(name, one.experiment.model_copy(update=own))
                arms.append(SuiteArm(role, experiment, one.arm, one.expects))
    return tuple(arms)


CLAIM = Claim(
    id="R21",
    title="The same holds with ZooKeeper controllers and with KRaft",
    words="What replication loses, duplicates and keeps does not depend on where the metadata is kept: it "
    "is the same with ZooKeeper and with KRaft.",
    set_up="On Kafka 3.9.2 with ZooKeeper: the cut of R12 with acks=1 and acks=all, the lost answers of R13 "
    "with and without idempotence, and both arms of R16. Control: the same arms on KRaft, which must come "
    "out the same; each of the three has arms that come out the other way.",
    today="Kafka 4.0 and later have no ZooKeeper (KIP-833): the claim is about clusters that have not "
    "migrated yet.",
    pinned=True,
    arms=(
        *_arms(Role.CLAIM, ZOOKEEPER),
        *_arms(Role.CONTROL, None),
    ),
)
