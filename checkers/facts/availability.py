"""How long a partition acknowledged no writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import ACKED, MOST, NULL, UNCONFIRMED, ColumnBatch, Ints, partitions
from checkers.facts.places import ranked
from harness.model.run import RunMeta

SHORTEST_NS = 1_000_000_000
"""Shorter stretches are not counted: batching and scheduling cause them too."""

AckRun = tuple[int, int]
"""First and last of success reports that lie less than `SHORTEST_NS` apart."""


@dataclass(frozen=True)
class AckTimes:
    """When some or all sends of one partition (`spot`) in one step were reported, in ns.

    `sent` is the time of the first send, `closed` of the last report of any outcome (None: none), `left_open`
    whether a send never got a report. `runs` are in ascending order; a stretch of a second without a success
    lies between two of them.
    """

    spot: int
    step: int
    sent: int | None
    closed: int | None
    left_open: bool
    runs: list[AckRun]


def reports_of(sends: ColumnBatch) -> list[AckTimes]:
    """When sends were reported, by partition and step.

    A success report is one of outcome `acked` or `unconfirmed`. Sends of unknown partition (-1) do not count.

    Args:
        sends: columns `spot`, `step`, `outcome`, `sent_ns`, `closed_ns`.
    """
    known = (partitions(sends["spot"]) >= 0) & (sends["step"] != NULL)
    if not known.all():
        sends = sends.where(known)
    if not len(sends):
        return []
    spots, spot = ranked(sends["spot"])
    steps, step = ranked(sends["step"])
    pairs, group = ranked(spot * len(steps) + step)
    count = len(pairs)
    sent, closed = sends["sent_ns"], sends["closed_ns"]
    first_sent = np.full(count, MOST)
    np.minimum.at(first_sent, group, np.where(sent == NULL, MOST, sent))
    last_closed = np.full(count, NULL)
    np.maximum.at(last_closed, group, closed)
    left_open = np.bincount(group[closed == NULL], minlength=count) > 0
    succeeded = ((sends["outcome"] == ACKED) | (sends["outcome"] == UNCONFIRMED)) & (closed != NULL)
    runs = _runs(group[succeeded], closed[succeeded])
    return [
        AckTimes(
            spot=int(spots[pair // len(steps)]),
            step=int(steps[pair % len(steps)]),
            sent=None if first_sent[number] == MOST else int(first_sent[number]),
            closed=None if last_closed[number] == NULL else int(last_closed[number]),
            left_open=bool(left_open[number]),
            runs=runs[number],
        )
        for number, pair in enumerate(pairs.tolist())
    ]


def _runs(group: Ints, closed: Ints) -> dict[int, list[AckRun]]:
    """The runs of these reports by group."""
    found: dict[int, list[AckRun]] = defaultdict(list)
    if not len(group):
        return found
    # Reports within one bucket are less than the shortest gap apart, so only its first and last matter, and
    # the number of values does not grow with the records.
    bucket = closed // SHORTEST_NS
    span = int(bucket.max() - bucket.min()) + 1
    cells, cell = ranked(group * span + (bucket - bucket.min()))
    first, last = np.full(len(cells), MOST), np.full(len(cells), NULL)
    np.minimum.at(first, cell, closed)
    np.maximum.at(last, cell, closed)
    of = cells // span
    # Near the end of the range of 64-bit integers the sum would overflow.
    soon = np.minimum(last[:-1], MOST - SHORTEST_NS) + SHORTEST_NS
    begins = np.concatenate([[True], (of[1:] != of[:-1]) | (first[1:] >= soon)])
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(cells)) - 1
    for number, begin, end in zip(
        of[starts].tolist(), first[starts].tolist(), last[ends].tolist(), strict=True
    ):
        found[number].append((begin, end))
    return found


def unavailable_seconds(reports: Iterable[AckTimes], meta: RunMeta) -> float:
    """The longest stretch without a success report, over all partitions and write steps, in seconds.

    Within one step (of `meta.steps`, kind "write") and partition, time runs from the first send to the last
    report of any outcome; where a send never got a report, to the end of the step if that is later. 0.0: no
    stretch of a second or more.
    """
    ends = {step.index: step.ended_ns for step in meta.steps if step.kind == "write"}
    together: dict[tuple[int, int], list[AckTimes]] = defaultdict(list)
    for one in reports:
        if one.step in ends:
            together[one.spot, one.step].append(one)
    longest = max((_longest(parts, ends[step]) for (_, step), parts in together.items()), default=0)
    return longest / 1e9 if longest >= SHORTEST_NS else 0.0


def _longest(parts: list[AckTimes], step_end: int | None) -> int:
    """The longest stretch of one partition in one step, in ns."""
    start = min((part.sent for part in parts if part.sent is not None), default=None)
    known_ends = [part.closed for part in parts if part.closed is not None]
    if step_end is not None and any(part.left_open for part in parts):
        known_ends.append(step_end)
    end = max(known_ends, default=None)
    longest, upto = 0, start
    for first, last in sorted(run for part in parts for run in part.runs):
        if upto is not None:
            longest = max(longest, first - upto)
        upto = last if upto is None else max(upto, last)
    return longest if upto is None or end is None else max(longest, end - upto)
