"""Hand-built runs with a share group, and the classes of its findings in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.model.run import FaultWindow, RunMeta, ShareInfo
from harness.model.share_journal import (
    DELIVERIES,
    DELIVERIES_DIR,
    SHARE_EVENTS,
    SHARE_EVENTS_DIR,
    SHARE_OFFSETS,
    SHARE_OFFSETS_DIR,
)
from tests.support.history import RUN, TOPIC, History, Row, ns, run_meta, write_part, write_run

GROUP = "q-1092"
MEMBERS = ("q-0", "q-1", "q-2")
LOCK = 3.0
LIMIT = 5
END = 90.0
"""When the group was asked where it begins, seconds."""


def share_info(**changes: Any) -> ShareInfo:
    info = ShareInfo(
        name="q", group=GROUP, members=MEMBERS, lock_seconds=LOCK, delivery_limit=LIMIT, closed=True
    )
    return info.model_copy(update=changes)


@dataclass
class ShareStory:
    """What members of the group were given, and what became of it. Times are seconds."""

    given: list[Row] = field(default_factory=list)
    asked: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)

    def give(
        self,
        offset: int,
        member: int,
        at: float,
        *,
        count: int | None = 1,
        word: str | None = "accept",
        sent: float | None = None,
        answered: bool = True,
        error: str | None = None,
        asked: float | None = None,
    ) -> ShareStory:
        """A record that member number `member` was given `at` some time, acknowledged 0.1 s later, and
        answered 0.1 s after that; it was acquired up to 0.1 s before."""
        done = at + 0.1 if sent is None else sent
        self.given.append(
            {
                "member": MEMBERS[member],
                "session": 0,
                "group": GROUP,
                "topic": TOPIC,
                "partition": 0,
                "offset": offset,
                "delivery_count": count,
                "state": "ok",
                "run": RUN,
                "producer": 0,
                "seq": offset,
                "asked_ns": ns(at - 0.1 if asked is None else asked),
                "acquired_ns": ns(at),
                "acknowledgement": word,
                "acknowledged_ns": None if word is None else ns(done),
                "answered_ns": ns(done + 0.1) if word is not None and answered else None,
                "error": error,
            }
        )
        return self

    def begins(
        self, start: int | None, *, lag: int | None = None, at: float = END, error: str | None = None
    ) -> ShareStory:
        """Where the group began when it was asked (None: it has not begun yet)."""
        self.asked.append(
            {
                "group": GROUP,
                "topic": TOPIC,
                "partition": 0,
                "asked_ns": ns(at),
                "at_ns": ns(at),
                "start_offset": start,
                "lag": lag,
                "error": error,
            }
        )
        return self

    def event(self, event: str, member: int, at: float) -> ShareStory:
        row = {"at_ns": ns(at), "group": GROUP, "member": MEMBERS[member], "session": 0, "event": event}
        self.events.append({**row, "detail": None})
        return self


def write_share_run(
    folder: Path,
    story: ShareStory,
    *,
    records: int,
    windows: tuple[FaultWindow, ...] = (),
    info: ShareInfo | None = None,
    samples: list[Row] | None = None,
) -> RunMeta:
    """A run in which offsets 0 to `records` - 1 of partition 0 were written and read back."""
    history = History()
    for offset in range(records):
        history.send(offset, at=offset).read(offset, at=offset)
    given = share_info() if info is None else info
    meta = run_meta(windows=windows, share=(given.model_copy(update={"deliveries": len(story.given)}),))
    write_run(folder, history, meta=meta, samples=samples or [])
    for name, rows, schema in (
        (DELIVERIES_DIR, story.given, DELIVERIES),
        (SHARE_OFFSETS_DIR, story.asked, SHARE_OFFSETS),
        (SHARE_EVENTS_DIR, story.events, SHARE_EVENTS),
    ):
        write_part(folder / name / "part-00000.parquet", rows, schema)
    return meta


Found = Counter[tuple[str, int, int]]
"""Class, offset and count."""


def share_oracle(
    story: ShareStory,
    records: int,
    windows: tuple[FaultWindow, ...] = (),
    info: ShareInfo | None = None,
    changes: tuple[int, ...] = (),
) -> Found:
    """The findings of a story, record by record."""
    info = share_info() if info is None else info
    spans = _spans(story, windows, changes)
    lock, limit = round(info.lock_seconds * 1e9), info.delivery_limit
    asked = [row for row in story.asked if row["error"] is None]
    # A group that once began does not cease to: such an answer says nothing.
    begun = [row for row in asked if row["start_offset"] is not None]
    last = max(begun or asked, key=lambda row: row["at_ns"], default=None)
    never = last is not None and last["start_offset"] is None
    found: Found = Counter()
    left, nobody = set(), set()
    finished_to = 0 if last is None or never else last["start_offset"]
    if last is not None and last["lag"] == 0:
        by_then = (row["offset"] + 1 for row in story.given if row["acquired_ns"] <= last["at_ns"])
        finished_to = max([finished_to, *by_then])
    for offset in range(records):
        rows = [row for row in story.given if row["offset"] == offset]
        rows.sort(key=lambda row: (row["acquired_ns"], row["asked_ns"]))
        if len(rows) > 1:
            found["share_redelivered", offset, len(rows)] += 1
        finished = [
            row["answered_ns"]
            for row in rows
            if row["acknowledgement"] in ("accept", "reject") and row["answered_ns"] and row["error"] is None
        ]
        again = [row for row in rows if finished and row["asked_ns"] > min(finished)]
        if again:
            found["share_again", offset, len(again)] += 1
        if _two_hold(rows, lock, spans):
            found["share_double_lease", offset, 2] += 1
        shown = [row["delivery_count"] or 0 for row in rows]
        runs = [rows[first : first + limit + 1] for first in range(len(rows) - limit)]
        too_many = any(not _meets(spans, run[0]["asked_ns"], run[-1]["acquired_ns"]) for run in runs)
        if too_many or max(shown, default=0) > limit:
            found["share_over_limit", offset, len(rows)] += 1
        if last is None:
            continue
        ended = any(row["acknowledgement"] in ("accept", "reject") for row in rows)
        count = max([len(rows), *shown])
        if not rows:
            nobody.add(offset)
        elif offset < finished_to and not ended:
            since, until = rows[-1]["acquired_ns"], last["at_ns"]
            begun = sum(since < start <= until for start, _ in spans)
            more = 1 + max(0, until - since) // lock + begun + _meets(spans, since, since)
            # One that was given after the answer was not finished by then.
            if since <= until and count + more < limit:
                found["share_archived_unseen", offset, count] += 1
        if not ended and count < limit:
            left.add(offset)
    if last is None:
        return found
    if limit > 2:
        found.update(_runs("share_lost", {one for one in nobody if one < finished_to}))
    quiet = 2 * lock + round(info.hold_seconds * 1e9)
    # A group that has not begun may be begun 30 s after a coordinator took over.
    quiet = last["at_ns"] - (max(quiet, 35 * 10**9) if last["start_offset"] is None else quiet)
    late = any(never or row["acquired_ns"] > quiet for row in story.given)
    if last["lag"] != 0 and info.closed and not late and not _meets(spans, quiet, last["at_ns"]):
        found.update(_runs("share_stuck", {one for one in left if one >= (last["start_offset"] or 0)}))
    return found


def _two_hold(rows: list[Row], lock: int, spans: list[tuple[int, int]]) -> bool:
    for number, one in enumerate(rows):
        for other in rows[number + 1 :]:
            at, since = other["acquired_ns"], one["asked_ns"]
            held = at < since + lock and (one["acknowledged_ns"] is None or at < one["acknowledged_ns"])
            if other["member"] != one["member"] and held and not _meets(spans, since, at):
                return True
    return False


def _spans(
    story: ShareStory, windows: tuple[FaultWindow, ...], changes: tuple[int, ...]
) -> list[tuple[int, int]]:
    """When a broker may forget who holds what."""
    ten, ever = 10 * 10**9, 2**63
    spans = [(at - ten, at) for at in changes]
    spans += [(one.opened_ns, ever if one.closed_ns is None else one.closed_ns + ten) for one in windows]
    paused: dict[str, int] = {}
    for row in sorted(story.events, key=lambda row: row["at_ns"]):
        at, event = row["at_ns"], row["event"]
        if event == "paused":
            paused[row["member"]] = at
        elif event == "resumed":
            spans.append((paused.pop(row["member"], at), at + ten))
        elif event in ("killed", "died"):
            spans.append((at, at + 45 * 10**9 + ten))
        elif event in ("joined", "closing", "error"):
            spans.append((at, at + ten))
    return spans + [(at, ever) for at in paused.values()]


def _meets(spans: list[tuple[int, int]], since: int, until: int) -> bool:
    return any(start <= until and end >= since for start, end in spans)


def _runs(finding: str, offsets: set[int]) -> list[tuple[str, int, int]]:
    found = []
    for first in sorted(one for one in offsets if one - 1 not in offsets):
        many = 1
        while first + many in offsets:
            many += 1
        found.append((finding, first, many))
    return found
