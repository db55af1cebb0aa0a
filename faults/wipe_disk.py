"""Wipe disk: a broker comes back with an empty log dir."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from faults.logs.disk_fault import NOTES, DiskFault, Note, OnDisk, carry_out, list_log_dir
from faults.shared.fault_spec import Evidence, Injection, InjectionContext, node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.frozen import Frozen
from harness.model.node_layout import DATA_DIR

_LOADED = re.compile(r"Loaded (\d+) logs in \d+\s?ms")
_CREATED = re.compile(r"Created log for partition (\S+) in ")
_IDENTITY = "meta.properties"


class _Plan(Frozen):
    """What was in a log dir: its partition folders, and the bytes of all files."""

    folders: tuple[str, ...]
    bytes: int


def _empty(*, but_identity: bool) -> str:
    spared = f" ! -path {DATA_DIR}/{_IDENTITY}" if but_identity else ""
    return f"find {DATA_DIR} -mindepth 1{spared} -delete"


class Wiped(OnDisk):
    """These nodes were killed, and their log dirs emptied."""

    not_done = "its log dir was not emptied"

    keep_identity: bool = False

    def damage(self, context: InjectionContext, node: int, begun: Note | None) -> None:
        if begun is None:
            found = list_log_dir(context, node)
            plan = _Plan(folders=found.folders(), bytes=sum(found.sizes.values())).model_dump_json()
        else:
            plan = begun.plan
        carry_out(context, node, plan, _empty(but_identity=self.keep_identity))

    def damage_found(self, context: InjectionContext, node: int, plan: str) -> Evidence:
        left = sorted(list_log_dir(context, node).sizes)
        if left != ([_IDENTITY] if self.keep_identity else []):
            holds = ", ".join(left[:3]) or "nothing"
            return Evidence(False, f"the log dir of {node_name(node)} holds {holds}")
        before = _Plan.model_validate_json(plan)
        but = f" except for {_IDENTITY}" if self.keep_identity else ""
        held = f"it held {len(before.folders)} partition(s)"
        facts: dict[str, object] = {"folders": list(before.folders), "bytes": before.bytes}
        return Evidence(True, f"{node_name(node)}: process ended, its log dir is empty{but}; {held}", facts)

    def start_found(self, context: InjectionContext, node: int, plan: str, log: str) -> Evidence:
        counts = [int(count) for count in _LOADED.findall(log)]
        created = set(_CREATED.findall(log))
        facts: dict[str, object] = {"loaded": counts[:1], "created": sorted(created)}
        folders = _Plan.model_validate_json(plan).folders
        own = {folder for folder in folders if folder.rpartition("-")[0] == context.topic}
        if not counts or counts[0] != 0 or not own <= created:
            return Evidence(False, f"{node_name(node)} did not start from an empty log dir", facts)
        made = ", ".join(sorted(own)) or "all partitions"
        return Evidence(True, f"{node_name(node)} loaded no log and created {made} again", facts)


class WipeDisk(DiskFault):
    """SIGKILL to every broker of the target, and its log dir is emptied, including meta.properties; healed by
    starting it again: it formats its storage and comes back under its old node id. With `keep_identity`
    meta.properties is kept.

    What Kafka does: the new storage has the same cluster id and a new directory id (KIP-858), or the old one
    if meta.properties was kept. When the old session has expired, the controller treats the broker as one
    that was shut down uncleanly: it removes it from the ISR and the eligible leader replicas (KIP-966) of its
    partitions. If the directory is new, it assigns the partitions to it; this changes them, so older requests
    are refused as outdated. The broker creates the partitions at offset 0 and fetches everything from their
    leaders. Of a partition without another replica it becomes the leader again as last known leader, empty
    and without an error, even with unclean.leader.election.enable=false: the records are lost.

    Controllers are refused, and so are the brokers of a combined cluster: a voter that forgets its log and
    its vote can make the metadata quorum elect a leader without committed records (KIP-595, KIP-853).

    Proof: the log dir is empty before the start; after it, the broker's log shows that it has loaded no log,
    and that it has created the partitions of the topic which it held.
    """

    kind: Literal["wipe_disk"] = "wipe_disk"
    injection = Wiped
    leaves = {**NOTES, "a new log dir, with a new directory id unless `keep_identity` is set": ()}
    keep_identity: bool = Field(default=False, description="keep meta.properties: the same directory id")

    def aim(self, context: InjectionContext) -> Injection:
        injection = super().aim(context)
        voters = set(injection.nodes) & set(context.cluster.controller_ids)
        if voters:
            raise FaultError(
                "a controller's disk is not wiped", where=node_names(voters), expected="brokers only"
            )
        return injection

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        warnings = super().warnings(shape)
        if shape.combined:
            raise ValueError(
                "brokers that are controllers too cannot be wiped: a voter that forgets its vote can break "
                "the metadata quorum; use separate controllers (`combined: false`)"
            )
        return (*warnings, *self.loss_warning(shape))
