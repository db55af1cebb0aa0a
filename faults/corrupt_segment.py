"""Corrupt segment: some bytes of a record batch on a broker's disk are not what they were."""

from __future__ import annotations

import base64
import random
from typing import Literal

from crc32c import crc32c
from pydantic import Field

from faults.logs.disk_fault import (
    NOTES,
    DiskFault,
    Note,
    OnDisk,
    carry_out,
    list_log_dir,
    read_batches,
    replica_holders,
    sidecar,
)
from faults.logs.log_dir_files import (
    BATCH_HEADER,
    CLEAN_SHUTDOWN,
    BatchHeader,
    invalid_batches,
    loaded_end_offsets,
    log_path,
)
from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.process_fault import resolve_nodes
from faults.shared.words import node_name, node_names
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.frozen import Frozen
from harness.model.node_layout import DATA_DIR
from harness.model.polling import poll_within

_ANSWER_SECONDS = 60.0
_CRC_AT, _CRC_FROM = 17, 21
"""The position of the CRC-32C in a batch, and of the first byte that it covers."""


class _Plan(Frozen):
    """Which bytes of which batch; `was` and `now` in base64."""

    path: str
    batch: BatchHeader
    at: int
    was: str
    now: str


class SegmentCorrupted(OnDisk):
    """One batch of a partition was damaged on each of these nodes."""

    not_done = "no batch was damaged"

    partition: int
    bytes: int
    after: Literal["kill", "stop"]
    seed: str

    def take_down(self, context: InjectionContext, node: int) -> None:
        if self.after == "kill":
            context.cluster.kill(node)
        else:
            context.cluster.terminate(node)

    def damage(self, context: InjectionContext, node: int, begun: Note | None) -> None:
        plan = self._plan(context, node) if begun is None else _Plan.model_validate_json(begun.plan)
        carry_out(context, node, plan.model_dump_json(), _write_script(plan, plan.now))
        if self.after == "stop":
            context.cluster.start_node(node)

    def _plan(self, context: InjectionContext, node: int) -> _Plan:
        folder = f"{context.topic}-{self.partition}"
        log_dir = list_log_dir(context, node)
        if self.after == "stop" and CLEAN_SHUTDOWN not in log_dir.sizes:
            raise FaultError(
                "a broker was not shut down cleanly",
                where=node_name(node),
                expected=f"{CLEAN_SHUTDOWN} in its log dir",
                next_step="let no other fault end this broker at the same time, or use `after: kill`",
            )
        checked_from = log_dir.recovery_points.get(folder, 0) if self.after == "kill" else 0
        rng = random.Random(f"{self.seed}/{node}/{folder}")
        for segment in reversed(log_dir.segments(folder)):
            path = log_path(folder, segment.base)
            batches = read_batches(context, node, [path])[path]
            some = [batch for batch in batches if not batch.control and batch.size > BATCH_HEADER]
            if some:
                batch = rng.choice(some)
                count = min(self.bytes, batch.size - BATCH_HEADER)
                at = batch.at + rng.randrange(BATCH_HEADER, batch.size - count + 1)
                was = _read(context, node, path, at, count)
                now = bytes(byte ^ rng.randrange(1, 256) for byte in was)
                return _Plan(path=path, batch=batch, at=at, was=_text(was), now=_text(now))
            if segment.base <= checked_from:
                break
        raise FaultError(
            "there is no batch to corrupt",
            where=f"{folder} on {node_name(node)}",
            expected="records in the segments that Kafka checks at the next start"
            if self.after == "kill"
            else "records",
            next_step="write records before this fault",
        )

    def damage_found(self, context: InjectionContext, node: int, plan: str) -> Evidence:
        done = _Plan.model_validate_json(plan)
        batch = _read(context, node, done.path, done.batch.at, done.batch.size)
        if len(batch) < done.batch.size or crc_of(batch) == stored_crc(batch):
            where = f"the batch at byte {done.batch.at} of {done.path}"
            return Evidence(False, f"{node_name(node)}: {where} is intact, or no longer there")
        facts: dict[str, object] = {
            "file": done.path, "byte": done.at, "was": done.was, "now": done.now,
            "offsets": [done.batch.base, done.batch.last],
            "stored_crc": stored_crc(batch), "computed_crc": crc_of(batch),
        }  # fmt: skip
        crcs = f"have CRC {crc_of(batch)}, {stored_crc(batch)} is stored"
        offsets = f"offsets {done.batch.base} to {done.batch.last} of {done.path}"
        return Evidence(True, f"{node_name(node)}: {offsets} {crcs}", facts)

    def wrong_state(self, context: InjectionContext, node: int) -> str | None:
        """After a kill the broker must still be down, after a stop it must answer again."""
        if self.after == "kill":
            return super().wrong_state(context, node)

        def silent() -> str | None:
            return None if node in context.answering() else f"{node_name(node)} does not answer"

        return poll_within(_ANSWER_SECONDS, silent)

    def undo(self, context: InjectionContext) -> None:
        if self.after == "stop":
            for node, note in self.notes(context).items():
                if note is not None:
                    self._restore(context, node, note.plan)
        super().undo(context)

    def healed(self, context: InjectionContext) -> Evidence:
        notes = self.rejoined(context)
        if len(notes) < len(self.nodes):
            return Evidence(False, f"not all nodes of {self.target} were damaged")
        return super().healed(context)

    def start_found(self, context: InjectionContext, node: int, plan: str, log: str) -> Evidence:
        done = _Plan.model_validate_json(plan)
        if self.after == "stop":
            return Evidence(True, f"the damage to {done.path} of {node_name(node)} is repaired")
        end = loaded_end_offsets(log).get(done.path.partition("/")[0])
        invalid = invalid_batches(log)
        facts: dict[str, object] = {"loaded": end, "found_invalid": sorted(invalid)}
        if (done.path, done.batch.at) not in invalid or end != done.batch.base:
            # Kafka has not noticed the damage, which must end with the fault.
            self._restore(context, node, plan)
            return Evidence(False, f"{node_name(node)} did not find the damage to {done.path}", facts)
        what = f"{node_name(node)} found invalid messages in {done.path} and loaded it to {end}"
        return Evidence(True, what, facts)

    def _restore(self, context: InjectionContext, node: int, plan: str) -> None:
        """Restore the bytes if the changed ones are still there: Kafka may have rewritten the file."""
        done = _Plan.model_validate_json(plan)
        read = _read_script(done.path, done.at, len(base64.b64decode(done.now)))
        sidecar(context, node, f'if [ "$({read})" = {done.now} ]; then\n{_write_script(done, done.was)}\nfi')


class CorruptSegment(DiskFault):
    """Some bytes within the records of one batch are changed on the disk of every broker of the target that
    has a replica of the partition. The seed chooses a batch of the last segment that has any.

    `after: kill` (SIGKILL, damage; healed by starting it). What Kafka does: without a clean-shutdown marker
    it checks the CRC of every batch from the recovery point's segment on (always that of the active segment),
    logs "Found invalid messages in log segment", truncates the log there, and fetches the rest from the
    leader. Valid batches after the damaged one are truncated too; if no other replica leads, they are lost.

    `after: stop` (SIGTERM, damage, start). What Kafka does: nothing. After a clean shutdown it checks no CRC,
    neither at start nor when it answers a fetch, so the damage is not detected until a reader checks: a
    follower refuses such a batch (CorruptRecordException), consumers do if they check CRCs (check.crcs: true
    in the Java client, false in librdkafka: findings/damaged-record-is-handed-out.sh). Healing restores the
    bytes where the file still has the changed ones.

    Proof: the CRC-32C of the batch on disk is not the one that it contains. After a kill, also at heal: the
    broker's log names that segment and that byte as invalid, and it loads the log to where the batch began;
    if it does not, the bytes are restored. After a stop, also: the broker answers with its damaged disk.
    """

    kind: Literal["corrupt_segment"] = "corrupt_segment"
    injection = SegmentCorrupted
    leaves = {
        **NOTES,
        "after a kill, the log as Kafka has truncated it, where no other replica has the rest": (),
    }
    partition: int = Field(default=0, ge=0, description="partition of the topic under test")
    bytes: int = Field(default=8, ge=1, le=4096, description="number of consecutive bytes to change")
    after: Literal["kill", "stop"] = Field(
        default="kill", description="how the broker is ended first: `kill` (SIGKILL) or `stop` (SIGTERM)"
    )

    def aim(self, context: InjectionContext) -> SegmentCorrupted:
        to = resolve_nodes(context, self.target)
        here = replica_holders(context, self.partition)
        numbers = tuple(node for node in to["numbers"] if node in here)
        if not numbers:
            raise FaultError(
                "the target has no replica of the partition",
                where=node_names(to["numbers"]),
                expected=f"one of broker {', '.join(map(str, sorted(here)))}",
                next_step="choose another target or partition",
            )
        return SegmentCorrupted(**(to | {"numbers": numbers}), **self.parameters(), seed=context.seed)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        warnings = super().warnings(shape)
        if self.partition >= shape.partitions:
            raise ValueError(
                f"partition {self.partition}: the topic has partitions 0 to {shape.partitions - 1}"
            )
        if self.after == "stop":
            return (*warnings, "after a clean stop Kafka checks no CRC: readers may get damaged records")
        return (*warnings, *self.loss_warning(shape))


def stored_crc(batch: bytes) -> int:
    """The CRC-32C that a batch contains."""
    return int.from_bytes(batch[_CRC_AT:_CRC_FROM], "big")


def crc_of(batch: bytes) -> int:
    """The CRC-32C that a batch should contain."""
    return int(crc32c(batch[_CRC_FROM:]))


def _read(context: InjectionContext, node: int, path: str, at: int, count: int) -> bytes:
    """Bytes of a file in the log dir: fewer where it ends, none where there is no such file."""
    return base64.b64decode(sidecar(context, node, _read_script(path, at, count)))


def _read_script(path: str, at: int, count: int) -> str:
    return (
        f"dd if={DATA_DIR}/{path} iflag=skip_bytes,count_bytes skip={at} count={count} status=none "
        "2>/dev/null | base64 -w 0 || true"
    )


def _write_script(plan: _Plan, content: str) -> str:
    return (
        f"printf %s {content} | base64 -d "
        f"| dd of={DATA_DIR}/{plan.path} oflag=seek_bytes seek={plan.at} conv=notrunc,nocreat status=none"
    )


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
