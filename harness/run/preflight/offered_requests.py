"""Whether an existing cluster offers the requests that an experiment needs.

A system that is compatible with Kafka may have a part of its protocol only. Its answers to ApiVersions
(KIP-35) say which: a client that needs another request gets an error of its library much later, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.cluster.protocol.connection import Offered
from harness.model.errors import BadInput
from harness.model.kafka_protocol import API_KEYS
from harness.spec.experiment import Experiment
from harness.spec.fault_index import located_faults
from harness.spec.step import KIND

_GROUP = ("FindCoordinator", "OffsetCommit", "OffsetFetch", "ListGroups", "DeleteGroups")
_CLASSIC = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
_OF_FAULTS = {
    "acl_deny": ("CreateAcls", "DeleteAcls"),
    "add_partitions": ("CreatePartitions",),
    "config_change": ("DescribeConfigs", "IncrementalAlterConfigs"),
    "delete_records": ("DeleteRecords",),
    "elect": ("ElectLeaders",),
    "reassign": ("AlterPartitionReassignments",),
    "throttle": ("DescribeClientQuotas", "AlterClientQuotas"),
    "transfer": ("AlterPartitionReassignments", "ElectLeaders"),
}
_OF_STEPS = {
    "alter_share_group": ("AlterShareGroupOffsets",),
    "ask_offsets": _GROUP,
    "commit_offsets": _GROUP,
    "delete_records": ("DeleteRecords",),
    "init_producer_id": ("InitProducerId",),
}
_SHARE = ("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge", "IncrementalAlterConfigs")
_TRANSACTIONS = ("InitProducerId", "AddPartitionsToTxn")


def check_offered(experiment: Experiment, offered: Mapping[int, Offered]) -> tuple[str, ...]:
    """Sentences about what the experiment's clients cannot do on these brokers (id -> what it offers), and
    will report in the run. What would leave nothing to judge is refused.

    Raises:
        BadInput: a fault, a step, a group or a transactional producer needs a request that a broker does not
            offer.
    """
    for where, needed in _needs(experiment):
        for broker, api in _missing(needed, offered):
            raise BadInput(
                f"the cluster does not offer {api}",
                where=f"{experiment.name}: {where}",
                expected=f"{', '.join(needed)} among the requests that every broker offers (ApiVersions)",
                found=f"broker {broker} offers no version of {api}",
                next_step="leave it out: this part of the experiment is not possible there",
            )
    transactional = any(experiment.workload_of(arm).transactional for arm in experiment.arms)
    return tuple(
        f"broker {broker} offers no version of {api} (its answer to ApiVersions), though it takes "
        "transactional producers: no client can commit or abort a transaction there"
        for broker, api in _missing(("EndTxn",) if transactional else (), offered)
    )


def _missing(needed: tuple[str, ...], offered: Mapping[int, Offered]) -> Iterator[tuple[int, str]]:
    return ((broker, api) for api in needed for broker, has in offered.items() if API_KEYS[api] not in has)


def _needs(experiment: Experiment) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every part of the experiment that needs requests of its own, with their names."""
    for where, fault, _ in located_faults(experiment):
        yield where, _OF_FAULTS.get(fault.name(), ())
    for number, step in enumerate(experiment.steps):
        kind = KIND[type(step.action)]
        yield f"steps[{number}].{kind}", _OF_STEPS.get(kind, ())
    for arm in experiment.arms:
        for reader in experiment.readers_of(arm):
            if reader.group is not None:
                members = ("ConsumerGroupHeartbeat",) if reader.protocol == "consumer" else _CLASSIC
                needed = _GROUP if reader.by_hand else (*_GROUP, *members)
                yield f"the group {reader.group} of arm {arm.name}", needed
        for share in experiment.share_of(arm):
            yield f"the share group {share.group or share.name} of arm {arm.name}", _SHARE
        if experiment.workload_of(arm).transactional:
            yield f"the transactions of arm {arm.name}", _TRANSACTIONS
