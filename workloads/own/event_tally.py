"""Counts what the journals of the user's own producers hold while they grow."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from harness.model.journal import SendOutcome
from workloads.own.producer_folder import ProducerFolder
from workloads.records.producer.outcomes import NO_REPORT, classify
from workloads.records.producer.reports import Progress

_READ_SECONDS = 0.5
_READ_BYTES = 16 * 2**20
_EVENT = re.compile(rb'"event"\s*:\s*"(\w+)"')


class EventTally:
    """Counts sends by outcome in the files of a folder while they grow; each line is read once."""

    def __init__(self, folder: ProducerFolder) -> None:
        self._folder = folder
        self._read_to: Counter[Path] = Counter()
        self._events: dict[Path, Counter[str]] = {}
        self._errors: Counter[str] = Counter()
        self._last_error: str | None = None
        self._next = 0.0
        self._lock = threading.Lock()

    def progress(self) -> Progress:
        """The counts, at most half a second old."""
        with self._lock:
            if time.monotonic() >= self._next:
                self._next = time.monotonic() + _READ_SECONDS
                for file in self._folder.event_files():
                    # A file that cannot be read is a problem of the run, which the end of the run reports.
                    with suppress(OSError):
                        self._read(file)
            events = list(self._events.values())
            total = sum(events, Counter[str]())
            ended = sum((event for event in events if event["end"]), Counter[str]())
            open_at_end = ended["sent"] - ended["acked"] - ended["failed"] - ended["refused"]
            outcomes = Counter({SendOutcome.REJECTED: total["refused"]})
            outcomes[SendOutcome.INDETERMINATE] = total["failed"] + open_at_end
            if total["acked"]:
                outcomes[classify(None, self._folder.target().acks)] = total["acked"]
            return Progress(
                sent=total["sent"],
                last_error=self._last_error,
                errors=dict(self._errors + Counter({NO_REPORT: open_at_end})),
                **{outcome.value: outcomes[outcome] for outcome in SendOutcome},
            )

    def _read(self, file: Path) -> None:
        with file.open("rb") as stream:
            stream.seek(self._read_to[file])
            while lines := stream.read(_READ_BYTES):
                whole = lines[: lines.rfind(b"\n") + 1]
                if not whole:
                    return
                self._count(file, whole)
                self._read_to[file] += len(whole)
                stream.seek(self._read_to[file])

    def _count(self, file: Path, lines: bytes) -> None:
        # Measured: to parse each line takes nine times as long.
        events = self._events.setdefault(file, Counter())
        events.update(name.decode() for name in _EVENT.findall(lines))
        for line in lines.splitlines() if b'"error"' in lines else ():
            # A line that is no event is a problem of the run, too.
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                event = json.loads(line) if b'"error"' in line else {}
                if event.get("event") in ("failed", "refused"):
                    self._errors[event["error"]] += 1
                    self._last_error = event["error"]
