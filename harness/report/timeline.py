"""Aggregates a run's journals over time into a few hundred numbers.

Only the needed columns are read, batch by batch: memory grows with the length of the run and the number of
leader changes, not with the records. A part that is damaged is left out and named in `Timeline.problems`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.model import group_journal, journal
from harness.model.broker_views import newest_rows
from harness.model.errors import JournalError
from harness.model.finding_class import FindingClass
from harness.model.journal_reader import PARTS, part_batches, reason_of
from harness.model.run import RunMeta

BUCKET_NS = 250_000_000
MOST_BUCKETS = 600
"""A longer run gets wider buckets: a screen could not show more."""
MOST_STRIPS = 24
LONGEST_NS = 30 * 24 * 3600 * 1_000_000_000
"""Times further than this from the start are ignored: a damaged journal must not fill the memory."""
DRAWN = (FindingClass.LOST, FindingClass.DUPLICATE)
"""The classes of findings that are drawn at their moment."""
_FOUND = pa.schema([("finding", pa.string()), ("sent_ns", pa.int64()), ("closed_ns", pa.int64())])
_SILENCE_NS = 2_000_000_000
"""After this many nanoseconds without a sample the leader counts as unknown."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LeaderStretch:
    """A stretch of time with one leader (-1: none), leader epoch and ISR size."""

    from_ns: int
    to_ns: int
    leader: int
    epoch: int
    isr: int


@dataclass(frozen=True, slots=True)
class Strip:
    """One partition: success reports per bucket, and its leaders in order of time (none without a sample)."""

    partition: int
    successes: tuple[int, ...]
    spans: tuple[LeaderStretch, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """One run over time. The series count sends, success reports and error reports per bucket; they have
    equal length, and the first bucket begins at `origin_ns`.

    Success is `acked` or `unconfirmed`. `strips` are the first `MOST_STRIPS` partitions that were sampled.
    `problems` are sentences about missing data. `rebalances` counts the partitions that were assigned to
    members of groups, or taken from them. `lost` and `duplicates` count findings of these classes per
    bucket of the success report (without one: of the send); `undated` of them have no time within the run.
    """

    origin_ns: int
    bucket_ns: int
    sends: tuple[int, ...]
    successes: tuple[int, ...]
    errors: tuple[int, ...]
    strips: tuple[Strip, ...]
    problems: tuple[str, ...]
    lost: tuple[int, ...] = ()
    duplicates: tuple[int, ...] = ()
    rebalances: tuple[int, ...] = ()
    undated: int = 0

    @property
    def seconds(self) -> float:
        return len(self.sends) * self.bucket_ns / 1e9


def read_timeline(folder: Path, meta: RunMeta) -> Timeline:
    """Aggregate the journals of the run in `folder`. Their content never raises an error."""
    problems: list[str] = []
    origin = meta.started_ns
    sends, successes, errors = _Tally(origin), _Tally(origin), _Tally(origin)
    by_partition = [_Tally(origin) for _ in range(min(meta.partitions, MOST_STRIPS))]
    names = ("sent_ns", "closed_ns", "outcome", "partition")
    succeeded = pa.array([journal.SendOutcome.ACKED.value, journal.SendOutcome.UNCONFIRMED.value])
    for batch in _batches(folder / journal.SENDS_DIR, journal.SENDS, names, problems):
        sends.add(batch["sent_ns"])
        good = pc.is_in(batch["outcome"], succeeded)
        done = batch.filter(good)
        successes.add(done["closed_ns"])
        errors.add(batch["closed_ns"].filter(pc.invert(good)))
        for number, tally in enumerate(by_partition):
            tally.add(done["closed_ns"].filter(pc.equal(done["partition"], number)))
    drawn = {name: _Tally(origin) for name in DRAWN}
    for batch in _batches(folder / journal.FINDINGS_DIR, _FOUND, _FOUND.names, problems, checked=True):
        at = pc.coalesce(batch["closed_ns"], batch["sent_ns"])
        for name, tally in drawn.items():
            mine = at.filter(pc.equal(batch["finding"], name.value))
            tally.out_of_range += mine.null_count
            tally.add(mine)
    moved = _Tally(origin)
    grouped = [reader.name for reader in meta.readers if reader.group is not None]
    if grouped and (folder / group_journal.ASSIGNMENTS_DIR).is_dir():
        for batch in _batches(
            folder / group_journal.ASSIGNMENTS_DIR, group_journal.ASSIGNMENTS, ("at_ns", "reader"), problems
        ):
            moved.add(batch["at_ns"].filter(pc.is_in(batch["reader"], pa.array(grouped, pa.string()))))
    leaders, last = _leaders(folder / journal.SAMPLES_DIR, origin, problems)
    out_of_range = sends.out_of_range + successes.out_of_range + errors.out_of_range
    if out_of_range:
        problems.append(f"{out_of_range:,} times in the sends journal lie outside the run and are not shown.")
    if not sends.counts.any():
        problems.append("The sends journal holds no send that could be shown.")
    known = [at for at in (meta.ended_ns, last, *(window.closed_ns for window in meta.windows)) if at]
    end = max((at for at in known if 0 <= at - origin < LONGEST_NS), default=origin)
    tallies = (sends, successes, errors)
    dated = (*tallies, moved, *drawn.values())
    length = max((end - origin) // BUCKET_NS + 1, *(len(tally.counts) for tally in dated))
    width = -(-length // MOST_BUCKETS)
    sent, reported, failed = (_rebucketed(tally.counts, length, width) for tally in tallies)
    strips = tuple(
        Strip(number, _rebucketed(tally.counts, length, width), leaders[number])
        for number, tally in enumerate(by_partition)
        if number in leaders
    )
    lost, duplicates = (_rebucketed(drawn[name].counts, length, width) for name in DRAWN)
    return Timeline(
        origin_ns=origin,
        bucket_ns=BUCKET_NS * width,
        sends=sent,
        successes=reported,
        errors=failed,
        strips=strips,
        problems=tuple(problems),
        lost=lost,
        duplicates=duplicates,
        rebalances=_rebucketed(moved.counts, length, width) if moved.counts.any() else (),
        undated=sum(tally.out_of_range for tally in drawn.values()),
    )


class _Tally:
    """Counts times per bucket; grows to the last bucket with a time."""

    def __init__(self, origin: int) -> None:
        self._origin = origin
        self.counts: Counts = np.zeros(0, np.int64)
        self.out_of_range = 0

    def add(self, times: pa.ChunkedArray) -> None:
        since = times.drop_null().to_numpy() - self._origin
        in_range = (since >= 0) & (since < LONGEST_NS)
        self.out_of_range += int(len(since) - in_range.sum())
        counted = np.bincount(since[in_range] // BUCKET_NS, minlength=len(self.counts))
        counted[: len(self.counts)] += self.counts
        self.counts = counted


def _rebucketed(counts: Counts, length: int, width: int) -> tuple[int, ...]:
    """`counts` padded to `length` buckets, then summed over `width` buckets each."""
    padded = np.zeros(-(-length // width) * width, np.int64)
    padded[: len(counts)] = counts
    return tuple(padded.reshape(-1, width).sum(axis=1).tolist())


def _batches(
    folder: Path, schema: pa.Schema, names: Sequence[str], problems: list[str], *, checked: bool = False
) -> Iterator[pa.Table]:
    """The columns `names` of a journal, or of what a check left, which may not have been made (`checked`)."""
    # Sends that were open when a run was cut off have no report: only their time of sending is used. A crash
    # between the writing of two files may leave the sends of one flush in both.
    parts = [*sorted(folder.glob(PARTS)), *folder.glob(journal.OPEN_SENDS)]
    if not parts and not checked:
        problems.append(f"There is no {folder.name} journal.")
    for part in parts:
        try:
            for table in part_batches(part, names):
                yield pa.table({name: table[name].cast(schema.field(name).type) for name in names})
        except (JournalError, pa.ArrowException) as error:
            reason = reason_of(error).splitlines()[0]
            used = "drawn" if checked else "shown"
            problems.append(f"{folder.name}/{part.name} cannot be read, so it is not {used}: {reason}")


def _leaders(
    folder: Path, origin: int, problems: list[str]
) -> tuple[dict[int, tuple[LeaderStretch, ...]], int | None]:
    """The leaders' spans by partition, and the time of the last sample."""
    spans: dict[int, list[LeaderStretch]] = {}
    held = np.zeros((0, 6), np.int64)
    last: int | None = None
    names = ("at_ns", "broker", "partition", "leader", "leader_epoch", "isr")
    for batch in _batches(folder, journal.SAMPLES, names, problems):
        rows = np.concatenate([held, _sampled(batch)])
        if not len(rows):
            continue
        # The rows of one moment may be split over two batches: the last moment waits for the next batch.
        last = int(rows[:, 0].max())
        held = rows[rows[:, 0] == last]
        _extend(spans, rows[rows[:, 0] < last])
    _extend(spans, held)
    kept = {
        number: tuple(span for span in spans[number] if 0 <= span.from_ns - origin < LONGEST_NS)
        for number in spans
    }
    return {number: stretches for number, stretches in kept.items() if stretches}, last


def _sampled(batch: pa.Table) -> Counts:
    """Rows of shown partitions: at_ns, partition, epoch, whether it is the leader's own, leader, ISR size."""
    known = batch.filter(pc.less(batch["partition"], MOST_STRIPS))
    own = pc.cast(pc.equal(known["broker"], known["leader"]), pa.int64())
    columns = [
        known["at_ns"],
        known["partition"],
        known["leader_epoch"],
        own,
        known["leader"],
        pc.list_value_length(known["isr"]),
    ]
    filled = [pc.fill_null(pc.cast(column, pa.int64()), -1).to_numpy() for column in columns]
    return np.stack(filled, axis=1)


def _extend(spans: dict[int, list[LeaderStretch]], rows: Counts) -> None:
    """Add the newest beliefs of each moment of these rows: one Python step per change, not per sample."""
    if not len(rows):
        return
    beliefs = rows[newest_rows(*rows[:, :4].T)]
    same = (np.diff(beliefs[:, [1, 2, 4, 5]], axis=0) == 0).all(axis=1)
    same &= np.diff(beliefs[:, 0]) < _SILENCE_NS
    starts = np.flatnonzero(np.append(True, ~same))
    ends = np.append(starts[1:], len(beliefs)) - 1
    for first, final in zip(beliefs[starts].tolist(), beliefs[ends].tolist(), strict=True):
        from_ns, partition, epoch, _, leader, isr = first
        span = LeaderStretch(from_ns, final[0], leader, epoch, isr)
        mine = spans.setdefault(partition, [])
        if mine and 0 <= from_ns - mine[-1].to_ns < _SILENCE_NS:
            before = mine.pop()
            if (before.leader, before.epoch, before.isr) == (leader, epoch, isr):
                span = LeaderStretch(before.from_ns, span.to_ns, leader, epoch, isr)
            else:
                # The state at the last sample is taken to hold until the next one.
                mine.append(LeaderStretch(before.from_ns, from_ns, before.leader, before.epoch, before.isr))
        mine.append(span)
