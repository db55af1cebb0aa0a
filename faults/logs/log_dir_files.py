"""The files in a broker's log dir, and what a broker logs when it loads them. Pure: text in, data out.

The scripts run in the toolbox image (bash, perl, GNU tools); their output is parsed here. Sources: Kafka's
documentation, "Implementation: Log" and "Message format" (record batch v2, KIP-98; messages of the formats
before it, each a batch of one).
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from harness.model.node_layout import DATA_DIR

METADATA = "__cluster_metadata-0"
"""The metadata log (KIP-595). Kafka keeps no recovery point of it, and logs its load differently."""
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
BATCH_HEADER = 61
"""Bytes of a batch before its records."""
_RECOVERY_POINTS, _LOG_STARTS, _SIZES = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "sizes",
)
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
        found = (
            Segment(int(match[1]), size)
            for path, size in self.sizes.items()
            if path.startswith(f"{folder}/") and (match := _SEGMENT.fullmatch(path[len(folder) + 1 :]))
        )
        return tuple(sorted(found))


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
    found: dict[str, int] = {}
    for folder, offset in _COMPLETED.findall(log):
        found.setdefault(folder.rpartition("/")[2], int(offset))
    return found


def invalid_batches(log: str) -> set[tuple[str, int]]:
    """(path within the log dir, byte) of every batch that a broker found to be damaged, from its log."""
    return {(path.removeprefix(f"{DATA_DIR}/"), int(at)) for path, at in _INVALID.findall(log)}
