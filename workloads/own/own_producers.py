"""The workload of a run whose producers are the user's: waits for them and takes over their journals."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

from harness.model.journal import RowSink, SendOutcome
from harness.model.progress import report_progress
from workloads.own.client_settings import ClientSettings
from workloads.own.journal_files import take_over_files
from workloads.own.journaled_client import open_in
from workloads.own.json_events import has_ended
from workloads.own.producer_folder import FOLDER_VARIABLE, RUN_VARIABLE, ProducerFolder
from workloads.own.take_over import Steps, Times
from workloads.records.producer.outcomes import NO_REPORT, classify
from workloads.records.producer.reports import Progress
from workloads.records.producer.send_journal import SendJournal

CLOSE_SECONDS = 10.0
IDLE_SECONDS = 2.0
"""After the run, a producer of this process that has sent nothing for this long counts as finished."""
_POLL_SECONDS = 0.05
_READ_SECONDS = 0.5
_READ_BYTES = 16 * 2**20
_EVENT = re.compile(rb'"event"\s*:\s*"(\w+)"')


class OwnProducers:
    """Has the methods of `workloads.records.producer.producers.Producers`, for producers that this process
    does not drive.

    `expected` is the number of producers that must open a journal in `folder`. A write step ends after its
    `seconds`, or as soon as all have closed. `close` moves their journals into the run's; `ids` takes the
    ids that records have of their own (rows of SENT_IDS).
    """

    def __init__(
        self,
        folder: ProducerFolder,
        expected: int,
        journal: SendJournal,
        transactions: RowSink | None,
        ids: RowSink | None = None,
    ) -> None:
        self._folder = folder
        self._expected = expected
        self._journal = journal
        self._transactions = transactions
        self._ids = ids
        self._until: float | None = None
        self._steps: list[tuple[int, int]] = []
        self._tally = EventTally(folder)
        self._problems: list[str] = []
        self._closed = False
        self.settings: dict[int, ClientSettings] = {}
        """What the clients of producers say of themselves, by producer, once the workload is closed."""
        self.opened = 0
        """The number of producers that have opened a journal, once the workload is closed."""

    def ready(self, seconds: float) -> bool:
        """Wait until the expected number of producers have opened their journals."""
        target = self._folder.target()
        report_progress(
            f"waiting for {self._expected} producer(s) of your own, topic {target.topic} on "
            f"{target.bootstrap}: {FOLDER_VARIABLE}={self._folder.path.resolve()} "
            f"{RUN_VARIABLE}={target.run_id}"
        )
        deadline = time.monotonic() + seconds
        while self._count() < self._expected and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return self._count() >= self._expected

    def start(
        self,
        step: int,
        *,
        records: int | None = None,
        seconds: float | None = None,
        rate: float | None = None,
    ) -> None:
        """Begin a write step, which ends after `seconds`; the producers decide how much they write."""
        if records is not None or rate is not None or seconds is None:
            raise ValueError("a write step of own producers takes `seconds` only")
        self._folder.begin()
        self._steps.append((time.time_ns(), step))
        self._until = time.monotonic() + seconds

    def finish(self, deadline: float | None = None) -> bool:
        """Wait for the end of the write step; False: `deadline` came first."""
        while self._until is not None and time.monotonic() < self._until and not self._all_closed():
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def stop(self) -> None:
        """Tell the producers that the write steps are over."""
        self._until = None
        self._folder.end()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Wait at most `seconds` until every producer has closed its journal; then take them over. Producers
        of this process that send nothing any more are closed. Safe to call again.

        Raises:
            JournalError: the run's journal cannot be written.
        """
        if self._closed:
            return
        self._closed = True
        self.stop()
        deadline = time.monotonic() + seconds
        while self._count() and not self._all_closed() and time.monotonic() < deadline:
            for producer in open_in(self._folder.path):
                if producer.idle(IDLE_SECONDS):
                    producer.end(max(0.0, deadline - time.monotonic()))
            time.sleep(_POLL_SECONDS)
        for producer in open_in(self._folder.path):
            producer.end(0.0)
        self._take_over()

    def progress(self) -> Progress:
        """Counts of what the journals hold so far."""
        return self._tally.progress()

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it is not known what was sent, once the workload is closed."""
        return tuple(self._problems)

    def _count(self) -> int:
        return len(self._folder.event_files())

    def _all_closed(self) -> bool:
        """Whether all expected producers have opened and closed their journals."""
        files = self._folder.event_files()
        return len(files) >= self._expected and all(map(has_ended, files))

    def _take_over(self) -> None:
        target = self._folder.target()
        unexpected: list[str] = []
        files = self._folder.event_files()
        for one in take_over_files(
            files, target, self._journal, self._transactions, ids=self._ids, steps=self._steps_of
        ):
            if one.producer is not None:
                self.opened += 1
                if one.settings is not None:
                    self.settings[one.producer] = one.settings
            if one.problem is not None:
                self._problems.append(str(one.problem))
            if self._transactions is None and one.transactions:
                unexpected.append(
                    f"producer {one.producer} wrote {one.transactions:,} transactions, which the experiment "
                    "does not expect: set `own: {transactional: true}` below `workload`"
                )
        if self.opened < self._expected:
            self._problems.append(
                f"{self._expected} producer(s) of your own were expected, {self.opened} opened a journal; "
                "what a producer writes that is not wrapped is not accounted for: wrap each in "
                "run.journaled(producer), or in another process in kafka_chaos.journaled(producer) "
                "(docs/how-to/own-producer.md)"
            )
        self._problems += unexpected

    def _steps_of(self, sent_ns: Times) -> Steps:
        """The write step in which each was sent; what was sent before counts to the first."""
        begun = np.array([at_ns for at_ns, _ in self._steps[1:]], dtype=np.int64)
        steps = np.array([step for _, step in self._steps] or [0], dtype=np.int32)
        return steps[np.searchsorted(begun, sent_ns, side="right")]


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
