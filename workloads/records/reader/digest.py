"""A digest of one partition's records, small enough to compare two reads of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workloads.records.record.identity import Decoded

MAX_GAPS = 1_000_000
"""The most gaps that are kept as ranges; `gap_count` counts all of them. A transaction leaves one in each
partition that it wrote to, so a run may have thousands; a read with more cannot be accounted for."""

_Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class PartitionDigest:
    """One partition as read from `start` to `end` (exclusive).

    Two reads have equal `content()` if and only if (except for a 64-bit hash collision) they returned the
    same records: the same offsets, states, identities and checksums. `gaps` are ranges (from, to), `to`
    exclusive, of offsets without a record: control batches, compaction, or a defect; at most `MAX_GAPS` of
    `gap_count`. `problem` says why the read did not reach `end` (None: it did); then the range after the last
    record counts as a gap although it was not read.
    """

    start: int
    end: int
    records: int
    gaps: tuple[tuple[int, int], ...]
    gap_count: int
    content_hash: int
    problem: str | None = None

    def content(self) -> tuple[int, int, int, int]:
        """What two reads of one range must agree on."""
        return (self.start, self.end, self.records, self.content_hash)


def _mixed(words: _Words) -> _Words:
    """splitmix64's finaliser, element by element; overflow wraps."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def record_hash(offset: npt.NDArray[np.int64], decoded: Decoded) -> int:
    """Sum modulo 2^64 of one hash per record over (offset, state, run, producer, seq, crc): order does not
    matter, the number of copies does."""
    words = np.full(len(offset), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in (offset, decoded.state, decoded.run, decoded.producer, decoded.seq, decoded.crc):
        words = _mixed(words ^ column.astype(np.int64).view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
    return int(words.sum(dtype=np.uint64))


@dataclass(slots=True)
class DigestBuilder:
    """Computes a partition's digest from batches of records in offset order."""

    start: int
    end: int
    records: int = 0
    _next: int = field(init=False)
    _hash: int = 0
    _gaps: list[tuple[int, int]] = field(default_factory=list)
    _gap_count: int = 0

    def __post_init__(self) -> None:
        self._next = self.start

    def add(self, offset: npt.NDArray[np.int64], decoded: Decoded) -> None:
        """Add records; `offset` is ascending and above all offsets added before.

        Raises:
            ValueError: offsets that go back, repeat, or lie outside [start, end).
        """
        if not len(offset):
            return
        before = np.concatenate(([self._next - 1], offset[:-1]))
        steps = offset - before
        if steps.min() < 1 or offset[-1] >= self.end:
            raise ValueError(
                f"offsets must ascend within [{self._next}, {self.end}), "
                f"got {int(offset.min())} to {int(offset.max())}"
            )
        holes = np.flatnonzero(steps > 1)
        if len(holes):
            self._gap(before[holes] + 1, offset[holes])
        self._next = int(offset[-1]) + 1
        self.records += len(offset)
        self._hash = (self._hash + record_hash(offset, decoded)) % 2**64

    def _gap(self, begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> None:
        self._gap_count += len(begin)
        room = MAX_GAPS - len(self._gaps)
        self._gaps += zip(begin[:room].tolist(), end[:room].tolist(), strict=True)

    def done(self, problem: str | None = None) -> PartitionDigest:
        """The digest; `problem` None means that the read reached the end."""
        if self._next < self.end:
            self._gap(np.array([self._next]), np.array([self.end]))
            self._next = self.end
        return PartitionDigest(
            start=self.start,
            end=self.end,
            records=self.records,
            gaps=tuple(self._gaps),
            gap_count=self._gap_count,
            content_hash=self._hash,
            problem=problem,
        )
