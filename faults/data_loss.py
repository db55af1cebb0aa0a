"""Power loss and wipe disk: a killed node comes back without what was not flushed, or with no log at all."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from typing import Literal

from pydantic import Field, TypeAdapter

from faults.logs.disk_fault import (
    NOTES,
    DiskFault,
    Note,
    OnDisk,
    carry_out,
    list_log_dir,
    read_batches,
    replica_holders,
)
from faults.logs.log_dir_files import (
    METADATA,
    KeptUpTo,
    PartitionCutOff,
    cut_partition,
    cut_script,
    describe_uncut,
    loaded_end_offsets,
    log_path,
    segments_to_read,
)
from faults.shared.fault_spec import Evidence, Injection, InjectionContext
from faults.shared.process_fault import resolve_nodes
from faults.shared.words import node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.frozen import Frozen
from harness.model.node_layout import DATA_DIR

_CUTS = TypeAdapter(tuple[PartitionCutOff, ...])
"""What one node loses in a power loss."""
_LOADED = re.compile(r"Loaded (\d+) logs in \d+\s?ms")
_CREATED = re.compile(r"Created log for partition (\S+) in ")
_IDENTITY = "meta.properties"


class LostPower(OnDisk):
    """These nodes were killed, and their logs cut."""

    not_done = "its logs were not cut"

    keep: KeptUpTo
    topic: Literal["under_test", "all"]
    seed: str

    def damage(self, context: InjectionContext, node: int, begun: Note | None) -> None:
        cuts = self._cuts(context, node) if begun is None else _CUTS.validate_json(begun.plan)
        carry_out(context, node, _CUTS.dump_json(cuts).decode(), cut_script(cuts))

    def _cuts(self, context: InjectionContext, node: int) -> tuple[PartitionCutOff, ...]:
        log_dir = list_log_dir(context, node)
        logs = {
            folder: segments
            for folder in log_dir.folders()
            if self._concerns(context, node, folder) and (segments := log_dir.segments(folder))
        }
        wanted = {
            folder: segments_to_read(segments, log_dir.recovery_points.get(folder, 0), self.keep)
            for folder, segments in logs.items()
        }
        paths = [log_path(folder, segment.base) for folder in logs for segment in wanted[folder]]
        walked = read_batches(context, node, paths) if paths else {}
        return tuple(
            cut_partition(
                folder,
                segments,
                {segment.base: walked[log_path(folder, segment.base)] for segment in wanted[folder]},
                log_dir.recovery_points.get(folder, 0),
                log_dir.log_starts.get(folder, 0),
                self.keep,
                random.Random(f"{self.seed}/{node}/{folder}"),
            )
            for folder, segments in logs.items()
        )

    def _concerns(self, context: InjectionContext, node: int, folder: str) -> bool:
        if folder == METADATA:
            # A voter of the metadata quorum acknowledges nothing before it is flushed; others flush later.
            return self.topic == "all" and node not in context.cluster.controller_ids
        return self.topic == "all" or folder.rpartition("-")[0] == context.topic

    def verify(self, context: InjectionContext) -> Evidence:
        evidence = super().verify(context)
        if not evidence.seen:
            return evidence
        if not evidence.what:
            what = f"everything was flushed on {self.target}: nothing could be lost"
            return Evidence(False, what, evidence.facts)
        return Evidence(True, f"process ended; {evidence.what}", evidence.facts)

    def damage_found(self, context: InjectionContext, node: int, plan: str) -> Evidence:
        cuts = _CUTS.validate_json(plan)
        otherwise = describe_uncut(cuts, list_log_dir(context, node))
        if otherwise is not None:
            return Evidence(False, f"{node_name(node)}: {otherwise}")
        lost = _with_loss(cuts)
        words = f"{node_name(node)} lost {_describe_loss(lost, context.topic)}" if lost else ""
        return Evidence(True, words, _facts(cuts))

    def start_found(self, context: InjectionContext, node: int, plan: str, log: str) -> Evidence:
        cuts = _CUTS.validate_json(plan)
        ends = loaded_end_offsets(log)
        expected = {cut.folder: cut.after for cut in cuts if cut.folder != METADATA}
        facts: dict[str, object] = {folder: ends.get(folder) for folder in expected}
        for folder, end in expected.items():
            if ends.get(folder) != end:
                what = f"{node_name(node)} loaded {folder} to {ends.get(folder)}, it was cut to {end}"
                return Evidence(False, what, facts)
        lost = _with_loss(cuts)
        words = f"{node_name(node)} loaded without {_describe_loss(lost, context.topic)}" if lost else ""
        return Evidence(True, words, facts)


class PowerLoss(DiskFault):
    """SIGKILL to every node of the target; then everything that was not flushed to its disk is removed from
    its logs; healed by starting it again.

    What Kafka does: it acknowledges records that are in the page caches of the ISR and leaves flushing to the
    kernel (Kafka documentation, "Application vs. OS Flush Management"): durability comes from replication. A
    segment is flushed when the next one is rolled, on a clean shutdown, and according to
    log.flush.interval.*; the flushed offset is checkpointed in recovery-point-offset-checkpoint every
    log.flush.offset.checkpoint.interval.ms (60 s). A broker that finds no clean-shutdown marker checks all
    segments from the recovery point on, rebuilds their indexes, and truncates the log at the first incomplete
    batch. The controller learns that the shutdown was unclean and removes the broker from the ISR and the
    eligible leader replicas (KIP-966); the broker fetches what it lacks from the leader. If no other replica
    has it, acknowledged records are lost.

    Which pages the kernel had written by then is a matter of chance, file by file. `keep` chooses one
    outcome: `recovery_point` (everything flushed and nothing more), `checkpoint` (only up to the checkpointed
    recovery point, even where segments were rolled and flushed since: worse than a disk that does what it
    reports), `{all_but_bytes: N}` (the last N bytes of each active segment are lost, flushed or not),
    `{random: true}` (from a byte after the recovery point on, chosen by the seed). Only the topic under test
    is cut: this is one of the outcomes that a real power loss can have, and nothing else changes. `topic:
    all` cuts every partition of the node, so also committed offsets, transaction states and, on a broker that
    is not a controller, its copy of the metadata log. Controllers flush before they acknowledge, so their log
    loses nothing. Checkpoint files, leader-epoch-checkpoint and the indexes of what is left are not changed.

    Kafka does not report how far it has flushed since the last checkpoint. With flush.messages or flush.ms
    set, `recovery_point` therefore cuts more than a power loss could remove; a low
    log.flush.offset.checkpoint.interval.ms makes the difference small.

    Proof: the process has ended and the files are shorter. At heal the broker's own log shows with which log
    end offset it loaded each partition: it must be the end of the last complete batch that was left. Where
    everything was flushed nothing can be lost, and the fault is not verified.
    """

    kind: Literal["power_loss"] = "power_loss"
    injection = LostPower
    leaves = {**NOTES, "logs without what was cut, where no other replica has it": ()}
    keep: KeptUpTo = Field(
        default="recovery_point",
        description="what is left: `recovery_point`, `checkpoint`, `{all_but_bytes: N}` or `{random: true}`",
    )
    topic: Literal["under_test", "all"] = Field(
        default="under_test", description="whose partitions are cut; `all`: every partition of the node"
    )

    def aim(self, context: InjectionContext) -> LostPower:
        to = resolve_nodes(context, self.target)
        if self.topic == "under_test" and not replica_holders(context) & set(to["numbers"]):
            raise FaultError(
                "the target holds no log that could be cut",
                where=node_names(to["numbers"]),
                expected=f"a broker with a replica of {context.topic}",
                next_step="choose another target, or `topic: all`",
            )
        return LostPower(**to, **self.parameters(), seed=context.seed)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        return (*super().warnings(shape), *self.loss_warning(shape))


def _with_loss(cuts: Iterable[PartitionCutOff]) -> tuple[PartitionCutOff, ...]:
    return tuple(cut for cut in cuts if cut.after < cut.before)


def _describe_loss(cuts: tuple[PartitionCutOff, ...], topic: str) -> str:
    """Offsets lost, of the topic under test one by one."""
    own = [cut for cut in cuts if cut.folder.rpartition("-")[0] == topic]
    parts = [
        f"offsets {cut.after} to {cut.before - 1} of {cut.folder} ({cut.cut_bytes} bytes)" for cut in own
    ]
    if others := len(cuts) - len(own):
        parts.append(f"the ends of {others} other partition(s)")
    return ", ".join(parts)


def _facts(cuts: Iterable[PartitionCutOff]) -> dict[str, object]:
    return {cut.folder: {"before": cut.before, "after": cut.after, "bytes": cut.cut_bytes} for cut in cuts}


class _Contents(Frozen):
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
            log_dir = list_log_dir(context, node)
            plan = _Contents(folders=log_dir.folders(), bytes=sum(log_dir.sizes.values())).model_dump_json()
        else:
            plan = begun.plan
        carry_out(context, node, plan, _empty(but_identity=self.keep_identity))

    def damage_found(self, context: InjectionContext, node: int, plan: str) -> Evidence:
        left = sorted(list_log_dir(context, node).sizes)
        if left != ([_IDENTITY] if self.keep_identity else []):
            holds = ", ".join(left[:3]) or "nothing"
            return Evidence(False, f"the log dir of {node_name(node)} holds {holds}")
        before = _Contents.model_validate_json(plan)
        but = f" except for {_IDENTITY}" if self.keep_identity else ""
        held = f"it held {len(before.folders)} partition(s)"
        facts: dict[str, object] = {"folders": list(before.folders), "bytes": before.bytes}
        return Evidence(True, f"{node_name(node)}: process ended, its log dir is empty{but}; {held}", facts)

    def start_found(self, context: InjectionContext, node: int, plan: str, log: str) -> Evidence:
        counts = [int(count) for count in _LOADED.findall(log)]
        created = set(_CREATED.findall(log))
        facts: dict[str, object] = {"loaded": counts[:1], "created": sorted(created)}
        folders = _Contents.model_validate_json(plan).folders
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
    and without an error, even with unclean.leader.election.enable=false: the records are lost
    (findings/wiped-replica-leads-with-an-empty-log.sh).

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
