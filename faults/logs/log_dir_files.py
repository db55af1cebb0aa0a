"""The files in a broker's log dir, where a power loss cuts them, and what a broker logs when it loads them.
Pure: text in, data out.

The scripts run in the toolbox image (bash, perl, GNU tools); their output is parsed here. Sources: Kafka's
documentation, "Implementation: Log" and "Message format" (record batch v2, KIP-98; messages of the formats
before it, each a batch of one).
"""

from __future__ import annotations

import base64
import binascii
import gzip
import random
import re
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import Field

from harness.model.frozen import Frozen
from harness.model.node_layout import DATA_DIR

METADATA = "__cluster_metadata-0"
"""The metadata log (KIP-595). Kafka keeps no recovery point of it, and logs its load differently."""
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
BATCH_HEADER = 61
"""Bytes of a batch before its records."""
_RECOVERY_POINTS = "recovery-point-offset-checkpoint"
_LOG_STARTS, _SIZES = "log-start-offset-checkpoint", "sizes"
_SECTION = re.compile(r"^== (\S+)\n", re.MULTILINE)
_PARTITION_FOLDER = re.compile(r".+-\d+")
_SEGMENT = re.compile(r"(\d{20})\.log")
_COMPLETED = re.compile(r"Completed load of Log\(dir=([^,]+),.*?logEndOffset=(-?\d+)\)")
_INVALID = re.compile(r"Found invalid messages in log segment (\S+) at byte offset (\d+)")
_CONTROL = 0x20

_WALK = r"""
for my $path (@ARGV) {
  open(my $file, '<:raw', $path) or die "$path: $!\n";
  my ($size, $at, $head) = (-s $file, 0, '');
  print "== $path\n";
  while ($at + 26 <= $size) {
    sysseek($file, $at, 0);
    last if sysread($file, $head, 27) < 26;
    my ($base, $length, $magic, $attributes, $delta) = (unpack('q> l> x4 c', $head), 0, 0);
    last if $length < ($magic < 2 ? 14 : 49) || $at + 12 + $length > $size;
    if ($magic < 2) {
      die "$path, byte $at: compressed, in message format $magic\n" if ord(substr($head, 17, 1)) & 7;
    } else {
      die "$path, byte $at: message format $magic, only 0 to 2 are understood\n" if $magic != 2;
      ($attributes, $delta) = unpack('x21 s> l>', $head);
    }
    print join(' ', $at, 12 + $length, $base, $base + $delta, $attributes), "\n";
    $at += 12 + $length;
  }
}
"""


class Segment(NamedTuple):
    """A `.log` file: the offset in its name, and its size in bytes."""

    base: int
    size: int


class BatchHeader(NamedTuple):
    """The header of a record batch: position in the file, size in bytes, first and last offset."""

    at: int
    size: int
    base: int
    last: int
    attributes: int

    @property
    def end(self) -> int:
        return self.at + self.size

    @property
    def control(self) -> bool:
        return bool(self.attributes & _CONTROL)


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log dir: the offsets of its checkpoints by partition folder, and the sizes of its files by path."""

    recovery_points: Mapping[str, int]
    log_starts: Mapping[str, int]
    sizes: Mapping[str, int]

    def folders(self) -> tuple[str, ...]:
        """Folders of partitions, except those that Kafka is deleting, moving or has found stray."""
        heads = {path.partition("/")[0] for path in self.sizes if "/" in path}
        return tuple(sorted(head for head in heads if _PARTITION_FOLDER.fullmatch(head)))

    def segments(self, folder: str) -> tuple[Segment, ...]:
        """The segments of a partition, in order; the last is the active one."""
        segments = (
            Segment(int(match[1]), size)
            for path, size in self.sizes.items()
            if path.startswith(f"{folder}/") and (match := _SEGMENT.fullmatch(path[len(folder) + 1 :]))
        )
        return tuple(sorted(segments))


def log_path(folder: str, base: int) -> str:
    """A segment's path within the log dir."""
    return f"{folder}/{base:020d}.log"


def list_script() -> str:
    """Prints checkpoints and file sizes for `parse_listing`."""
    show = (f"echo '== {name}'; cat {name} 2>/dev/null || true" for name in (_RECOVERY_POINTS, _LOG_STARTS))
    return "\n".join([f"cd {DATA_DIR}", *show, f"echo '== {_SIZES}'", "find . -type f -printf '%s %P\\n'"])


def parse_listing(text: str) -> LogDir:
    """Parse the output of `list_script`. Raises ValueError: it is something else."""
    pieces = _SECTION.split(text)[1:]
    parts = dict(zip(pieces[::2], pieces[1::2], strict=True))
    if not {_RECOVERY_POINTS, _LOG_STARTS, _SIZES} <= parts.keys():
        raise ValueError(f"the listing is incomplete: {text[:200]!r}")
    lines = (line.partition(" ") for line in parts[_SIZES].splitlines() if line)
    return LogDir(
        recovery_points=parse_checkpoint(parts[_RECOVERY_POINTS]),
        log_starts=parse_checkpoint(parts[_LOG_STARTS]),
        sizes={path: int(size) for size, _, path in lines},
    )


def parse_checkpoint(text: str) -> dict[str, int]:
    """Offsets by partition folder from an offset checkpoint file: version 0, count, `topic partition offset`.

    Kafka creates it empty; then there are none. Raises ValueError: it is something else.
    """
    lines = text.split("\n")
    if not text.strip():
        return {}
    rows = [line.split() for line in lines[2:] if line]
    if lines[0] != "0" or int(lines[1]) != len(rows) or any(len(row) != 3 for row in rows):
        raise ValueError(f"not an offset checkpoint: {text[:200]!r}")
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in rows}


def walk_script(paths: Iterable[str]) -> str:
    """Prints the header of every complete batch of these files, compressed, for `parse_walk`."""
    named = " ".join(shlex.quote(path) for path in paths)
    return f"cd {DATA_DIR}\nperl -e {shlex.quote(_WALK)} -- {named} | gzip -1 | base64 -w 0"


def parse_walk(text: str) -> dict[str, tuple[BatchHeader, ...]]:
    """Complete batches by path. Raises ValueError: it is not the output of `walk_script`."""
    try:
        plain = gzip.decompress(base64.b64decode(text, validate=True)).decode()
    except (binascii.Error, OSError, EOFError) as error:
        raise ValueError(f"the batches could not be read: {text[:200]!r}") from error
    pieces = _SECTION.split(plain)[1:]
    return {
        path: tuple(BatchHeader(*map(int, line.split())) for line in lines.splitlines() if line)
        for path, lines in zip(pieces[::2], pieces[1::2], strict=True)
    }


def loaded_end_offsets(log: str) -> dict[str, int]:
    """The log end offset with which a broker first loaded each partition folder, from its log."""
    last_first = reversed(_COMPLETED.findall(log))
    return {folder.rpartition("/")[2]: int(offset) for folder, offset in last_first}


def invalid_batches(log: str) -> set[tuple[str, int]]:
    """(path within the log dir, byte) of every batch that a broker found to be damaged, from its log."""
    return {(path.removeprefix(f"{DATA_DIR}/"), int(at)) for path, at in _INVALID.findall(log)}


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
    end = batches[-1].end if batches else 0
    flushed = next((batch.at for batch in batches if batch.last >= recovery_point), end)
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
