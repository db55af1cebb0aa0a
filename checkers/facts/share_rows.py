"""Deliveries to share groups, and where groups begin, from their journals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.facts.columns import NULL, ColumnBatch, codes, integers, spots
from harness.model.run import ShareInfo
from harness.model.storage import open_parquet

ACCEPT, RELEASE, REJECT = range(3)
_WORDS = {"accept": ACCEPT, "release": RELEASE, "reject": REJECT}
_TEXTS = ("member", "group", "topic", "acknowledgement", "error")
_NUMBERS = ("partition", "offset", "delivery_count", "producer", "seq", "session")
_TIMES = ("asked_ns", "acquired_ns", "acknowledged_ns", "answered_ns")
ROWS = ("spot", "offset", "count", "producer", "seq", "session", "member", "word", "failed", *_TIMES)
"""Columns of deliveries: `word` is the code of the acknowledgement, `failed` whether its answer has an
error."""


@dataclass(frozen=True)
class ShareStarts:
    """The last answer about each partition of a group, by spot: where it begins (NULL: it never began, which
    is what coordinators answer until a member's first fetch), the lag (NULL: not told), and when it was
    answered."""

    start: Mapping[int, int]
    lag: Mapping[int, int]
    at_ns: Mapping[int, int]


def read_deliveries(paths: Sequence[str], info: ShareInfo, topics: Mapping[str, int]) -> ColumnBatch:
    """The deliveries to the group's members, by place and time."""
    names = {name: number for number, name in enumerate(info.members)}
    parts = []
    for path in paths:
        with open_parquet(path) as file:
            table = file.read(columns=[*_TEXTS, *_NUMBERS, *_TIMES])
        mine = np.flatnonzero(codes(table.column("group"), {info.group: 0}) == 0)
        columns = {name: integers(table.column(name)) for name in (*_NUMBERS[1:], *_TIMES)}
        columns["count"] = columns.pop("delivery_count")
        columns["spot"] = spots(table.column("topic"), table.column("partition"), topics)
        columns["member"] = codes(table.column("member"), names)
        columns["word"] = codes(table.column("acknowledgement"), _WORDS)
        columns["failed"] = (codes(table.column("error"), {}) != NULL).astype(np.int64)
        parts.append(ColumnBatch({name: columns[name] for name in ROWS}).where(mine))
    rows = ColumnBatch.joined(parts, ROWS)
    return rows.where(np.lexsort((rows["asked_ns"], rows["acquired_ns"], rows["offset"], rows["spot"])))


def read_starts(paths: Sequence[str], info: ShareInfo, topics: Mapping[str, int]) -> ShareStarts:
    """The last answer without an error about each partition of the group."""
    start: dict[int, int] = {}
    lag: dict[int, int] = {}
    at: dict[int, int] = {}
    for path in paths:
        with open_parquet(path) as file:
            table = file.read()
        mine = codes(table.column("group"), {info.group: 0}) == 0
        mine &= codes(table.column("error"), {}) == NULL
        spot = spots(table.column("topic"), table.column("partition"), topics)
        columns = [integers(table.column(name)) for name in ("start_offset", "lag", "at_ns")]
        for row in np.flatnonzero(mine).tolist():
            here, (begin, left, when) = int(spot[row]), (int(column[row]) for column in columns)
            begun = begin != NULL or start.get(here, NULL) == NULL
            if begun and when > at.get(here, NULL):
                start[here], lag[here], at[here] = begin, left, when
    return ShareStarts(start, lag, at)
