"""Gaps in the offsets of a final read, explained by the files of the current leader."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError, JournalError
from harness.model.run import PartitionBounds
from workloads.log_format.segments import Hidden, hidden_offsets, kept_offsets
from workloads.reader.digest import PartitionDigest

Digests = Mapping[int, PartitionDigest]


def gap_reasons(
    cluster: LiveCluster,
    bounds: tuple[PartitionBounds, ...],
    plain: Digests,
    committed: Digests | None,
    *,
    compacted: bool = False,
) -> list[str]:
    """One sentence for each partition with unexplained gaps: in a read_uncommitted read (`plain`), or in a
    read_committed one of the same offsets (`committed`). Empty: every gap is explained.

    No consumer gets control batches, and read_committed consumers get no records of aborted transactions. In
    a `compacted` topic an offset may be gone from the log itself (Kafka documentation, Log Compaction). Only
    the leader's files are used, because the leader answered the reads.
    """
    reasons: list[str] = []
    both = [plain] if committed is None else [plain, committed]
    hidden: dict[int, Hidden] = {}
    for bound in bounds:
        found_here = [digests[bound.partition] for digests in both if bound.partition in digests]
        if not any(digest.gaps for digest in found_here):
            continue
        try:
            files = cluster.log_files(bound.leader, bound.topic, bound.partition)
            found = hidden_offsets(files)
            if compacted:
                found = Hidden(np.union1d(found.control, _gone(files, found_here)), found.aborted)
            hidden[bound.partition] = found
        except (ClusterError, JournalError) as error:
            whose = f"partition {bound.partition} on its leader {bound.leader}"
            reasons.append(f"the files of {whose} cannot be read: {error}")
    control = {number: one.control for number, one in hidden.items()}
    reasons += unexplained_gaps(bounds, plain, control)
    if committed is not None:
        both_kinds = {number: np.union1d(one.control, one.aborted) for number, one in hidden.items()}
        reasons += [f"read_committed: {reason}" for reason in unexplained_gaps(bounds, committed, both_kinds)]
    return reasons


def _gone(files: Mapping[str, bytes], digests: list[PartitionDigest]) -> npt.NDArray[np.int64]:
    """The offsets of the gaps that are missing in the files too, ascending."""
    offsets = [np.arange(low, high, dtype=np.int64) for digest in digests for low, high in digest.gaps]
    empty = np.empty(0, dtype=np.int64)
    return np.setdiff1d(np.concatenate([empty, *offsets]), kept_offsets(files))


def unexplained_gaps(
    bounds: tuple[PartitionBounds, ...], digests: Digests, explained: Mapping[int, npt.NDArray[np.int64]]
) -> list[str]:
    """One sentence for each partition that has gaps with offsets that are not in `explained` (partition ->
    ascending offsets)."""
    reasons = []
    for bound in bounds:
        digest = digests.get(bound.partition)
        if digest is None or not digest.gaps:
            continue
        gaps = np.array(digest.gaps, dtype=np.int64)
        known = explained.get(bound.partition, np.empty(0, dtype=np.int64))
        inside = np.searchsorted(known, gaps[:, 1]) - np.searchsorted(known, gaps[:, 0])
        unexplained = gaps[inside < gaps[:, 1] - gaps[:, 0]]
        unlisted = digest.gap_count - len(gaps)
        if len(unexplained) or unlisted:
            low, high = (unexplained if len(unexplained) else gaps)[0].tolist()
            reasons.append(
                f"partition {bound.partition}: {len(unexplained) + unlisted} unexplained gap(s) in the "
                f"offsets, the first [{low}, {high})"
            )
    return reasons
