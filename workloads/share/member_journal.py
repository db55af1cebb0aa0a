"""The journals of one member of a share group, from the lines that its process writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.model.journal import RowSink

PartitionOffset = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True, slots=True)
class ShareSinks:
    """Journals that all members of all share groups of a run share."""

    deliveries: RowSink
    events: RowSink


class MemberJournal:
    """Journal of one client of a member. A delivery is written when its acknowledgement is answered, or when
    the client has ended; until then it is kept here.

    `deliveries` counts the rows that were or will be written, `last_ns` is the time of the last one (0:
    none), `error` what the client reported last.
    """

    def __init__(self, sinks: ShareSinks, *, group: str, member: str, session: int, topic: str) -> None:
        self._sinks = sinks
        self._who = {"member": member, "session": session, "group": group}
        self._topic = topic
        self._open: dict[PartitionOffset, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self.deliveries = 0
        self.last_ns = 0
        self.joined = False
        self.error: str | None = None

    def event(self, event: str, detail: str | None = None, at_ns: int | None = None) -> None:
        """Journal an event of the client, now or at another time."""
        now = time.time_ns() if at_ns is None else at_ns
        self._sinks.events.append({**self._who, "at_ns": now, "event": event, "detail": detail})

    def take(self, line: dict[str, Any]) -> None:
        """Journal what one line of the process says (see `workloads.share.member_loop`)."""
        with self._lock:
            if "given" in line:
                self._given(line["given"], line["asked"], line["rows"])
            elif "acknowledged" in line:
                for partition, offset, word in line["rows"]:
                    row = self._open.get((partition, offset))
                    if row is not None:
                        row["acknowledgement"], row["acknowledged_ns"] = word, line["acknowledged"]
            elif "answered" in line:
                self._answered(line["answered"], line["rows"])
            elif "unanswered" in line:
                for partition, offset in line["rows"]:
                    if (partition, offset) in self._open:
                        self._write((partition, offset))
            elif "error" in line:
                self.error = line["error"]
                self.event("error", line["error"], line["at"])
            elif "joined" in line:
                self.joined = True
                self.event("joined", at_ns=line["joined"])
            elif "closing" in line:
                self.event("closing", at_ns=line["closing"])
            elif "died" in line:
                self.error = line["died"]

    def end(self) -> None:
        """Write the deliveries that have no answer."""
        with self._lock:
            for delivered in list(self._open):
                self._write(delivered)

    def _given(self, at: int, asked: int, rows: Iterable[Sequence[Any]]) -> None:
        for partition, offset, count, state, run, producer, seq in rows:
            if (partition, offset) in self._open:
                self._write((partition, offset))
            self._open[partition, offset] = {
                **self._who,
                "topic": self._topic,
                "partition": partition,
                "offset": offset,
                "delivery_count": count,
                "state": state,
                "run": run,
                "producer": producer,
                "seq": seq,
                "asked_ns": asked,
                "acquired_ns": at,
            }
            self.deliveries += 1
            self.last_ns = at

    def _answered(self, at: int, rows: Iterable[Sequence[Any]]) -> None:
        for partition, offset, error in rows:
            row = self._open.get((partition, offset))
            if row is not None and "acknowledgement" in row:
                row["answered_ns"], row["error"] = at, error
                self._write((partition, offset))

    def _write(self, delivered: PartitionOffset) -> None:
        self._sinks.deliveries.append(self._open.pop(delivered))
