"""Wipe disk: a broker comes back with an empty log dir."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field

from faults.base import Evidence, Injection, InjectionContext, node_name, node_names
from faults.logs.disk import DiskFault, Note, OnDisk, carry_out, list_log_dir
from faults.process_fault import resolve_nodes
from faults.target_context import ClusterShape
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

    kind: Literal["wipe_disk"] = "wipe_disk"
    keep_identity: bool = False

    def damage(self, context: InjectionContext, node: int, begun: Note | None) -> None:
        if begun is None:
            found = list_log_dir(context, node)
            plan = _Plan(folders=found.folders(), bytes=sum(found.sizes.values())).model_dump_json()
        else:
            plan = begun.plan
        carry_out(context, node, plan, _empty(but_identity=self.keep_identity))

    def verify(self, context: InjectionContext) -> Evidence:
        facts: dict[str, object] = {}
        told = []
        for node, note in self.notes(context).items():
            if context.cluster.is_running(node):
                return Evidence(False, f"the process of {node_name(node)} runs")
            if note is None or note.done_ns is None:
                return Evidence(False, f"the log dir of {node_name(node)} was not emptied")
            left = sorted(list_log_dir(context, node).sizes)
            if left != ([_IDENTITY] if self.keep_identity else []):
                holds = ", ".join(left[:3]) or "nothing"
                return Evidence(False, f"the log dir of {node_name(node)} holds {holds}")
            plan = _Plan.model_validate_json(note.plan)
            facts[str(node)] = {"folders": list(plan.folders), "bytes": plan.bytes}
            but = f" but for {_IDENTITY}" if self.keep_identity else ""
            told.append(
                f"the log dir of {node_name(node)} is empty{but}, of {len(plan.folders)} partition(s)"
            )
        return Evidence(True, f"process gone; {'; '.join(told)}", facts)

    def healed(self, context: InjectionContext) -> Evidence:
        told: list[str] = []
        facts: dict[str, object] = {}
        for node, note in self.rejoined(context).items():
            log = context.cluster.log_since(node, note.done_ns or 0)
            counts = [int(count) for count in _LOADED.findall(log)]
            created = set(_CREATED.findall(log))
            facts[str(node)] = {"loaded": counts[:1], "created": sorted(created)}
            own = {
                folder
                for folder in _Plan.model_validate_json(note.plan).folders
                if folder.rpartition("-")[0] == context.topic
            }
            if not counts or counts[0] != 0 or not own <= created:
                return Evidence(False, f"{node_name(node)} did not start from an empty log dir", facts)
            told.append(f"{node_name(node)} loaded no log and made {', '.join(sorted(own)) or 'all'} anew")
        if not told:
            return Evidence(False, f"no log dir of {self.target} was emptied", facts)
        return Evidence(True, "; ".join(told), facts)


class WipeDisk(DiskFault):
    """SIGKILL to every broker of the target, and its log dir is emptied, meta.properties and all; healed by
    starting it again: it formats its storage anew and comes back under its old node id. With `keep_identity`
    meta.properties is spared.

    What Kafka does: the new storage has the same cluster id and a new directory id (KIP-858), or the old one
    if that was kept. Once the old session is over the controller takes the broker for one that was shut down
    uncleanly: out of the ISR and the eligible leader replicas (KIP-966) of its partitions. If the directory
    is new it assigns them to it: a change of the partition, so that older requests are refused as outdated.
    The broker makes them anew at offset 0 and fetches everything from their leaders. A partition without
    another replica gets it back as last known leader, empty and without an error, even with
    unclean.leader.election.enable=false: its records are gone.

    Controllers are refused, and so are the brokers of a combined cluster: a voter that forgets its log and
    its vote can make the metadata quorum elect a leader without committed records (KIP-595, KIP-853).

    Proof: the log dir is empty before the start; after it the broker's log says that it has loaded no log,
    and that it has created the partitions of the topic which it held.
    """

    kind: Literal["wipe_disk"] = "wipe_disk"
    injection: ClassVar[type[Injection]] = Wiped
    keep_identity: bool = Field(default=False, description="spare meta.properties: the same directory id")

    def aim(self, context: InjectionContext) -> Wiped:
        to = resolve_nodes(context, self.target)
        voters = set(to["numbers"]) & set(context.cluster.controller_ids)
        if voters:
            raise FaultError(
                "a controller's disk is not wiped", where=node_names(voters), expected="brokers only"
            )
        return Wiped(**to, keep_identity=self.keep_identity)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        told = super().warnings(shape)
        if shape.combined:
            raise ValueError(
                "brokers that are controllers too cannot be wiped: a voter that forgets its vote can break "
                "the metadata quorum; use separate controllers (`combined: false`)"
            )
        if not self.hits_every_replica(shape):
            return told
        return (*told, "every replica may be hit: acknowledged records will be lost")
