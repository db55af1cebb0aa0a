"""What an application missed, in words: offsets, when they were written, faults, committed offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from harness.model.errors import JournalError
from harness.model.id_journal import LOG_IDS_DIR
from harness.model.journal import READS_DIR, SENDS_DIR, ReadState
from harness.model.journal_reader import journal_batches
from harness.model.run import FaultWindow, RunMeta

MOST_RANGES, MOST_IDS = 5, 3
_IDENTITY = ["producer", "seq"]

Position = tuple[int, int]
"""Partition and offset."""
Committed = Mapping[str, Mapping[int, int]]
"""The next offset that a group would read, by group and partition."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Consecutive offsets of one partition, both ends included."""

    partition: int
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"{self.partition}:{self.first}" + (f"-{self.last}" if self.last > self.first else "")


def ranges_of(positions: Sequence[Position]) -> list[OffsetRange]:
    """Positions in ascending order as ranges."""
    ranges: list[OffsetRange] = []
    for partition, offset in positions:
        if ranges and (ranges[-1].partition, ranges[-1].last + 1) == (partition, offset):
            ranges[-1] = OffsetRange(partition, ranges[-1].first, offset)
        else:
            ranges.append(OffsetRange(partition, offset, offset))
    return ranges


def nothing_processed(error: str | None, parseable: bool) -> str:
    """Why an application may have processed no record; `parseable`: they hold a payload of the user's."""
    last = "" if error is None else f" Its last error: {error}."
    bytes_of_ours = (
        " Without `payload` in the workload, records hold bytes of kafka-chaos, which an application that "
        "expects JSON cannot parse: docs/how-to/own-consumer.md"
    )
    return f"nothing at all was processed.{last}{'' if parseable else bytes_of_ours}"


def describe(
    positions: Sequence[Position],
    meta: RunMeta,
    run: Path,
    committed: Committed | str | None,
    *,
    missed: bool,
) -> str:
    """Positions in ascending order: their ranges on the first line, then a line per range and group.

    Args:
        run: the folder of their run; journals that are missing or damaged leave out the times.
        committed: offsets that groups have committed for the run's topic, or why they are not known; None:
            nobody asked.
        missed: the application has not processed these records.
    """
    ranges = ranges_of(positions)
    shown = ranges[:MOST_RANGES]
    more = f", and {len(ranges) - len(shown):,} more ranges" if len(ranges) > len(shown) else ""
    lines = [f"partition:offset {', '.join(map(str, shown))}{more}"]
    times: dict[OffsetRange, tuple[int, int]] = {}
    ids: dict[OffsetRange, str] = {}
    with suppress(JournalError):
        ids = _ids(shown, meta.topic, run)
        times = _times(shown, meta.topic, run)
    lines += [f"  {_range_text(span)}{ids.get(span, '')}{_written(times.get(span), meta)}" for span in shown]
    lines += [f"  {line}" for line in _groups(positions, meta, committed, missed)]
    faults = ", ".join(_with_times(window, meta) for window in meta.windows)
    return "\n".join([*lines, f"faults of the run: {faults or 'none'}"])


def _range_text(one: OffsetRange) -> str:
    if len(one) == 1:
        return f"partition {one.partition}, offset {one.first}"
    return f"partition {one.partition}, offsets {one.first} to {one.last} ({len(one):,} records)"


def _ids(ranges: Sequence[OffsetRange], topic: str, run: Path) -> dict[OffsetRange, str]:
    """The ids of its records in each range that has any, in words: ", id order-7", ", ids order-7, order-8
    and 12 more"."""
    found: dict[OffsetRange, dict[int, str]] = {}
    more: dict[OffsetRange, int] = dict.fromkeys(ranges, 0)
    for table in journal_batches(run / LOG_IDS_DIR, ["topic", "partition", "offset", "id"]):
        for span in ranges:
            rows = table.filter((pc.field("topic") == topic) & _inside(span)).select(["offset", "id"])
            first = rows.sort_by("offset").slice(0, MOST_IDS).to_pylist()
            kept = found.get(span, {}) | {row["offset"]: row["id"] for row in first}
            found[span] = dict(sorted(kept.items())[:MOST_IDS])
            more[span] += rows.num_rows
    words = {}
    for span, ids in found.items():
        left = more[span] - len(ids)
        if ids:
            named = f", id{'s' * (more[span] > 1)} {', '.join(ids.values())}"
            words[span] = named + (f" and {left:,} more" if left else "")
    return words


def _inside(span: OffsetRange) -> pc.Expression:
    """The rows of a range."""
    offset = pc.field("offset")
    return (pc.field("partition") == span.partition) & (offset >= span.first) & (offset <= span.last)


def _times(ranges: Sequence[OffsetRange], topic: str, run: Path) -> dict[OffsetRange, tuple[int, int]]:
    """The first send and the last report (ns) of each range whose records the journals hold."""
    keys: list[pa.Table] = []
    columns = ["topic", "partition", "offset", "state", "producer", "seq"]
    for table in journal_batches(run / READS_DIR, columns):
        ours = table.filter((pc.field("topic") == topic) & (pc.field("state") == ReadState.OK.value))
        for number, span in enumerate(ranges):
            rows = ours.filter(_inside(span)).select(_IDENTITY)
            keys.append(rows.append_column("range", pa.array([number] * rows.num_rows, pa.int32())))
    if not sum(map(len, keys)):
        return {}
    wanted = pa.concat_tables(keys).group_by([*_IDENTITY, "range"]).aggregate([])
    times: dict[OffsetRange, tuple[int, int]] = {}
    for table in journal_batches(run / SENDS_DIR, [*_IDENTITY, "sent_ns", "closed_ns"]):
        hit = table.join(wanted, _IDENTITY, join_type="inner")
        for number in pc.unique(hit["range"]).to_pylist():
            of_range = hit.filter(pc.field("range") == number)
            since = pc.min(of_range["sent_ns"]).as_py()
            until = pc.max(pc.coalesce(of_range["closed_ns"], of_range["sent_ns"])).as_py()
            begin, end = times.get(ranges[number], (since, until))
            times[ranges[number]] = min(begin, since), max(end, until)
    return times


def _written(times: tuple[int, int] | None, meta: RunMeta) -> str:
    """When a range was written, and the faults that were open at any moment between."""
    if times is None:
        return ""
    since, until = times
    faults = " + ".join(
        _with_target(window)
        for window in meta.windows
        if window.opened_ns <= until and (window.closed_ns is None or since <= window.closed_ns)
    )
    return (
        f": sent and reported from {_seconds(since, meta)} to {_seconds(until, meta)}, "
        f"{f'open meanwhile: {faults}' if faults else 'no fault was open meanwhile'}"
    )


def _groups(
    positions: Sequence[Position], meta: RunMeta, committed: Committed | str | None, missed: bool
) -> list[str]:
    """What the groups that are not readers of the run have committed for the partitions concerned."""
    if committed is None:
        return []
    if isinstance(committed, str):
        return [f"what consumer groups have committed is not known: {committed}"]
    own = {reader.group for reader in meta.readers}
    others = {group: offsets for group, offsets in committed.items() if group not in own and offsets}
    if not others:
        return ["no consumer group of yours has committed an offset of this topic"]
    lines = []
    for group, offsets in sorted(others.items()):
        for partition in sorted({partition for partition, _ in positions}):
            here = [offset for number, offset in positions if number == partition]
            if partition not in offsets:
                lines.append(f"group {group} has committed no offset of partition {partition}")
                continue
            passed = sum(offset < offsets[partition] for offset in here)
            why = (
                f"{passed:,} of the {len(here):,} missing here lie before it and are not read again"
                if passed
                else f"none of the {len(here):,} missing here lies before it, so the group has yet to read on"
            )
            line = f"group {group} has committed offset {offsets[partition]} of partition {partition}"
            lines.append(f"{line}: {why}" if missed else line)
    return lines


def _with_target(window: FaultWindow) -> str:
    return f"{window.name} ({window.target})"


def _with_times(window: FaultWindow, meta: RunMeta) -> str:
    end = "never healed" if window.closed_ns is None else f"to {_seconds(window.closed_ns, meta)}"
    return f"{_with_target(window)} from {_seconds(window.opened_ns, meta)} {end}"


def _seconds(at_ns: int, meta: RunMeta) -> str:
    """Seconds since the start of the run, as in its report."""
    return f"{(at_ns - meta.started_ns) / 1e9:.2f} s"
