"""Where a power loss cuts the logs of a broker. Pure: from the files of a log dir to what is left of them."""

from __future__ import annotations

import random
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from faults.logs.log_dir_files import CLEAN_SHUTDOWN, BatchHeader, LogDir, Segment, log_path
from harness.model.frozen import Frozen
from harness.model.node_layout import DATA_DIR


class AllBut(Frozen):
    """The end of each active segment is lost, flushed or not: a disk that lies about fsync."""

    all_but_bytes: int = Field(ge=1, description="number of bytes that each active segment loses")


class AtRandom(Frozen):
    """Each partition is cut at a random byte after the recovery point, possibly inside a batch."""

    random: Literal[True]


KeptUpTo = Literal["recovery_point", "checkpoint"] | AllBut | AtRandom
"""What a power loss leaves of a log."""


class PartitionCutOff(Frozen):
    """The cut of one partition: `segment` keeps its first `size` bytes, the segments `gone` are deleted.

    `before` and `after` are its log end offsets before the cut and as Kafka will find it.
    """

    folder: str
    segment: int
    size: int
    gone: tuple[int, ...]
    cut_bytes: int
    before: int
    after: int


def segments_to_read(segments: Sequence[Segment], recovery_point: int, keep: KeptUpTo) -> tuple[Segment, ...]:
    """The segments whose batches `cut_partition` has to know."""
    return tuple(dict.fromkeys((_last_kept_segment(segments, recovery_point, keep), segments[-1])))


def cut_partition(
    folder: str,
    segments: Sequence[Segment],
    walked: Mapping[int, Sequence[BatchHeader]],
    recovery_point: int,
    log_start: int,
    keep: KeptUpTo,
    rng: random.Random,
) -> PartitionCutOff:
    """Where a power loss cuts one partition.

    Kafka flushes a segment when the next one is rolled, and checkpoints its recovery point only every
    log.flush.offset.checkpoint.interval.ms; so the data that is known to be on disk ends at the later of the
    checkpoint and the start of the active segment.

    Args:
        walked: the batches of the segments that `segments_to_read` names, by base offset.
        recovery_point: as checkpointed; 0 where there is none.
    """
    active = segments[-1]
    kept = _last_kept_segment(segments, recovery_point, keep)
    batches = walked[kept.base]
    flushed = _position(batches, recovery_point)
    if isinstance(keep, AllBut):
        size = max(0, kept.size - keep.all_but_bytes)
    elif isinstance(keep, AtRandom):
        size = rng.randrange(flushed, kept.size) if flushed < kept.size else kept.size
    else:
        size = flushed
    gone = tuple(segment for segment in segments if segment.base > kept.base)
    return PartitionCutOff(
        folder=folder,
        segment=kept.base,
        size=size,
        gone=tuple(segment.base for segment in gone),
        cut_bytes=kept.size - size + sum(segment.size for segment in gone),
        before=max(log_start, _end_offset(active.base, walked[active.base], active.size)),
        after=max(log_start, _end_offset(kept.base, batches, size)),
    )


def _last_kept_segment(segments: Sequence[Segment], recovery_point: int, keep: KeptUpTo) -> Segment:
    """The last segment of which anything is left."""
    if keep != "checkpoint":
        return segments[-1]
    return segments[max(0, bisect_right([segment.base for segment in segments], recovery_point) - 1)]


def _position(batches: Sequence[BatchHeader], offset: int) -> int:
    """The position in the file of the first batch that reaches `offset`; the end, if none does."""
    return next((batch.at for batch in batches if batch.last >= offset), batches[-1].end if batches else 0)


def _end_offset(base: int, batches: Sequence[BatchHeader], size: int) -> int:
    """The offset after the last batch that is complete within `size` bytes of a segment."""
    whole = bisect_right([batch.end for batch in batches], size)
    return batches[whole - 1].last + 1 if whole else base


def cut_script(cuts: Iterable[PartitionCutOff]) -> str:
    """Carries out cuts; doing so again changes nothing. Owner and permissions do not change.

    Indexes of what is left are not changed either: after an unclean shutdown Kafka rebuilds those from the
    recovery point on, and truncates leader-epoch-checkpoint and producer snapshots to the log's end.
    """
    lines = [f"cd {DATA_DIR}", f"rm -f {CLEAN_SHUTDOWN}"]
    for cut in cuts:
        if cut.cut_bytes:
            lines.append(f"truncate -c -s '<{cut.size}' {shlex.quote(log_path(cut.folder, cut.segment))}")
        for base in cut.gone:
            stem = shlex.quote(log_path(cut.folder, base).removesuffix(".log"))
            lines.append(f"rm -f {stem}.log {stem}.index {stem}.timeindex {stem}.txnindex")
    return "\n".join(lines)


def describe_uncut(cuts: Iterable[PartitionCutOff], found: LogDir) -> str | None:
    """The first difference between a listing and the result of the cuts, in words; None: there is none."""
    if CLEAN_SHUTDOWN in found.sizes:
        return f"{CLEAN_SHUTDOWN} is there"
    for cut in cuts:
        path = log_path(cut.folder, cut.segment)
        if found.sizes.get(path) != cut.size:
            return f"{path} has {found.sizes.get(path)} bytes, not {cut.size}"
        for base in cut.gone:
            if log_path(cut.folder, base) in found.sizes:
                return f"{log_path(cut.folder, base)} is still there"
    return None
