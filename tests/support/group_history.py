"""What the members of a group did and what coordinators answered, built by hand; times are seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.model.group_journal import (
    ASSIGNMENTS,
    ASSIGNMENTS_DIR,
    COMMITS,
    COMMITS_DIR,
    OFFSETS,
    OFFSETS_DIR,
)
from harness.model.run import ReaderInfo, RunMeta
from tests.support.history import SECOND, T0, TOPIC, History, Row, run_meta, write_part, write_run

GROUP = "g"
READERS = ("a", "b")
SESSION = 10
"""Session time-out of the members, in seconds."""


def at_ns(seconds: float) -> int:
    return T0 + round(seconds * SECOND)


def group_meta(**changes: Any) -> RunMeta:
    """Metadata of a run with two members, and of a group that has nothing to do with them."""
    members = tuple(
        ReaderInfo(name=name, group=GROUP, commits="manual", session_ms=SESSION * 1000) for name in READERS
    )
    return run_meta(**{"readers": (*members, ReaderInfo(name="other", group="h")), **changes})


@dataclass
class GroupHistory:
    """The rows of the journals; `log` is the number of records in the partition."""

    log: int = 100
    commits: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    owners: list[Row] = field(default_factory=list)
    given: list[Row] = field(default_factory=list)

    def own(
        self, reader: str, begin: float, end: float | None = None, *, how: str = "revoked"
    ) -> GroupHistory:
        """The partition is assigned at `begin` and given up, or lost, at `end`."""
        self._event(reader, begin, "assigned")
        return self if end is None else self._event(reader, end, how)

    def _event(self, reader: str, at: float, event: str) -> GroupHistory:
        row = {"reader": reader, "session": 0, "at_ns": at_ns(at), "event": event, "topic": TOPIC}
        self.owners.append(row | {"partition": 0, "offset": None, "member": f"member-{reader}"})
        return self

    def give(self, reader: str, at: float, first: int, last: int) -> GroupHistory:
        """A member is given the offsets from `first` to `last`."""
        self.given += [
            {"reader": reader, "offset": offset, "read_ns": at_ns(at)} for offset in range(first, last + 1)
        ]
        return self

    def commit(
        self,
        reader: str,
        offset: int,
        at: float,
        *,
        asked: float | None = -1.0,
        error: str | None = None,
        kind: str | None = "request",
    ) -> GroupHistory:
        """A commit that was answered at `at` and asked for at `asked` (None: not known; left out: 0.1 s
        before)."""
        since = at - 0.1 if asked == -1.0 else asked
        self.commits.append(
            {
                "reader": reader,
                "session": 0,
                "at_ns": at_ns(at),
                "topic": TOPIC,
                "partition": 0,
                "offset": offset,
                "error": error,
                "kind": kind,
                "asked_ns": None if since is None else at_ns(since),
                "member": f"member-{reader}",
            }
        )
        return self

    def answer(
        self, offset: int | None, at: float, *, asked: float | None = None, broker: int = 1, **other: Any
    ) -> GroupHistory:
        """A coordinator's answer at `at`, asked for 0.1 s before if not said otherwise."""
        self.answers.append(
            {
                "group": GROUP,
                "topic": TOPIC,
                "partition": 0,
                "asked_ns": at_ns(at - 0.1 if asked is None else asked),
                "at_ns": at_ns(at),
                "source": "fetch",
                "broker": broker,
                "offset": offset,
                **other,
            }
        )
        return self

    def logged(self, *offsets: int | None, brokers: tuple[int, ...] = (1, 2, 3)) -> GroupHistory:
        """The files of `__consumer_offsets` hold these commits, in this order."""
        for broker in brokers:
            for place, offset in enumerate(offsets):
                self.answer(offset, 49, broker=broker, source="logged", log_offset=place)
        return self

    def write(self, folder: Path, meta: RunMeta | None = None) -> Path:
        """A run folder of it."""
        records = History()
        for seq in range(self.log):
            records.send(seq, at=seq).read(seq, at=seq)
        records.live = self._live()
        write_run(folder, records, meta=meta or group_meta())
        self._write_of_group(folder)
        return folder

    def _live(self) -> list[Row]:
        records = History()
        for row in self.given:
            records.give(row["offset"], at=row["offset"], reader=row["reader"])
            records.live[-1]["read_ns"] = row["read_ns"]
        return records.live

    def _write_of_group(self, folder: Path) -> None:
        for name, rows, schema in (
            (COMMITS_DIR, self.commits, COMMITS),
            (ASSIGNMENTS_DIR, self.owners, ASSIGNMENTS),
            (OFFSETS_DIR, self.answers, OFFSETS),
        ):
            write_part(folder / name / "part-00000.parquet", rows, schema)
