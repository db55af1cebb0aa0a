"""One client of a share group's member: its process, and the journals of the lines that it writes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from harness.model.journal import RowSink
from workloads.share.member_loop import MemberSettings

LIBRDKAFKA_MEMBER = (sys.executable, "-m", "workloads.share.librdkafka_member")

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
            match line:
                case {"given": at, "asked": asked, "rows": rows}:
                    self._given(at, asked, rows)
                case {"acknowledged": at, "rows": rows}:
                    for partition, offset, word in rows:
                        if row := self._open.get((partition, offset)):
                            row["acknowledgement"], row["acknowledged_ns"] = word, at
                case {"answered": at, "rows": rows}:
                    for partition, offset, error in rows:
                        row = self._open.get((partition, offset), {})
                        if "acknowledgement" in row:
                            row["answered_ns"], row["error"] = at, error
                            self._write((partition, offset))
                case {"unanswered": _, "rows": rows}:
                    for partition, offset in rows:
                        self._write((partition, offset))
                case {"error": what, "at": at}:
                    self.error = what
                    self.event("error", what, at)
                case {"joined": at}:
                    self.joined = True
                    self.event("joined", at_ns=at)
                case {"closing": at}:
                    self.event("closing", at_ns=at)
                case {"died": what}:
                    self.error = what

    def end(self) -> None:
        """Write the deliveries that have no answer."""
        with self._lock:
            for delivered in list(self._open):
                self._write(delivered)

    def _given(self, at: int, asked: int, rows: Iterable[Sequence[Any]]) -> None:
        for partition, offset, count, state, run, producer, seq in rows:
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

    def _write(self, delivered: PartitionOffset) -> None:
        """Write a delivery, unless that is done."""
        if row := self._open.pop(delivered, None):
            self._sinks.deliveries.append(row)


class MemberProcess:
    """A running client. It ends when it is closed or killed, when the client can do nothing any more, and
    when this process ends, because its standard input is closed then.

    `failure` says why it ended by itself (None: it did not).
    """

    def __init__(
        self, settings: MemberSettings, journal: MemberJournal, command: Sequence[str] = LIBRDKAFKA_MEMBER
    ) -> None:
        self.journal = journal
        self.failure: str | None = None
        self._ending = False
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._say(json.dumps(asdict(settings)))
        self._stderr: deque[str] = deque(maxlen=1)
        self._errors = threading.Thread(target=self._read_errors, name="share-errors", daemon=True)
        self._errors.start()
        self._thread = threading.Thread(target=self._listen, name="share-member", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """Ask it to end, which it does after its batch; `join` waits for it."""
        self._ending = True
        self._say("stop")

    def kill(self) -> None:
        """End it at once (SIGKILL); what it has written is still journaled."""
        self._ending = True
        self.journal.event("killed")
        self._process.kill()

    def pause(self) -> None:
        """Stop its process (SIGSTOP)."""
        self.journal.event("paused")
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self.journal.event("resumed")

    def join(self, seconds: float) -> bool:
        """Wait until it has ended and what it wrote is journaled; False: it did not end, and was killed."""
        self._thread.join(seconds)
        ended = not self._thread.is_alive()
        if not ended:
            self.kill()
            self._thread.join()
        return ended

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # A process that was killed in the middle of a line.
            with suppress(json.JSONDecodeError):
                self.journal.take(json.loads(line))
        code = self._process.wait()
        self._errors.join(1.0)
        if not self._ending:
            last = self._stderr[-1].strip() if self._stderr else None
            self.failure = self.journal.error or last or f"exit code {code}"
            self.journal.event("died", self.failure)
        self.journal.end()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as errors:
            self._stderr.extend(errors)
