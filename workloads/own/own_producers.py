"""The workload of a run whose producers are the user's: waits for them and takes over their journals."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harness.model.errors import BadInput, JournalError
from harness.model.journal import OPEN_SENDS, SENDS, SENDS_DIR, RowSink, SendOutcome
from harness.model.journal_reader import PARTS, part_batches
from harness.model.progress import report_progress
from workloads.own.journaled import open_in
from workloads.own.json_events import import_events
from workloads.own.producer_folder import (
    BOOTSTRAP_VARIABLE,
    FOLDER_VARIABLE,
    RUN_VARIABLE,
    TOPIC_VARIABLE,
    ProducerFolder,
    is_closed,
)
from workloads.own.take_over import take_over, without_end
from workloads.producer.send_journal import SendJournal
from workloads.producer.tally import Progress

CLOSE_SECONDS = 10.0
IDLE_SECONDS = 2.0
"""After the run, a producer of this process without a send for so long is taken to be done."""
_POLL_SECONDS = 0.05
_READ_SECONDS = 0.5


class OwnProducers:
    """Has the methods of `workloads.producer.producers.Workload`, for producers that this process does not
    drive.

    `expected` is the number of producers that must open a journal in `folder`. A write step ends after its
    `seconds`, or as soon as all have closed. `close` moves their journals into the run's.
    """

    def __init__(
        self, folder: ProducerFolder, expected: int, journal: SendJournal, transactions: RowSink | None
    ) -> None:
        self._folder = folder
        self._expected = expected
        self._journal = journal
        self._transactions = transactions
        self._until: float | None = None
        self._steps: list[tuple[int, int]] = []
        self._tally = PartTally(folder)
        self._problems: list[str] = []
        self._closed = False

    def ready(self, seconds: float) -> bool:
        """Wait until the expected number of producers have opened their journals."""
        named = self._folder.environment()
        report_progress(
            f"waiting for {self._expected} producer(s) of your own, topic {named[TOPIC_VARIABLE]} on "
            f"{named[BOOTSTRAP_VARIABLE]}: {FOLDER_VARIABLE}={named[FOLDER_VARIABLE]} "
            f"{RUN_VARIABLE}={named[RUN_VARIABLE]}"
        )
        deadline = time.monotonic() + seconds
        while self._count() < self._expected:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

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
            for one in open_in(self._folder.path):
                if one.idle(IDLE_SECONDS):
                    one.end(max(0.0, deadline - time.monotonic()))
            time.sleep(_POLL_SECONDS)
        for one in open_in(self._folder.path):
            one.end(0.0)
        self._take_over()

    def progress(self) -> Progress:
        """Counts of what the journals hold so far; without events in JSON lines, which are read at the
        end."""
        return self._tally.progress()

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it is not known what was sent, once the workload is closed."""
        return tuple(self._problems)

    def _count(self) -> int:
        return len(self._folder.producers()) + len(self._folder.event_files())

    def _all_closed(self) -> bool:
        """Whether all expected producers have opened and closed their journals."""
        if self._count() < self._expected:
            return False
        files = all(_ended(file) for file in self._folder.event_files())
        return files and all(is_closed(folder) for folder in self._folder.producers().values())

    def _take_over(self) -> None:
        target = self._folder.target()
        for file in self._folder.event_files():
            try:
                if not import_events(file, self._folder, target).ended:
                    self._problems.append(without_end(file))
            except BadInput as error:
                self._problems.append(str(error))
        found = len(self._folder.producers())
        if found < self._expected:
            self._problems.append(
                f"{self._expected} producer(s) of your own were expected, {found} opened a journal"
            )
        self._problems += take_over(self._folder, self._journal, self._transactions, self._with_steps)

    def _with_steps(self, table: pa.Table) -> pa.Table:
        """The rows with the write step in which each was sent; what was sent before counts to the first."""
        begun = np.array([at_ns for at_ns, _ in self._steps[1:]], dtype=np.int64)
        steps = np.array([step for _, step in self._steps] or [0], dtype=np.int32)
        sent = table["sent_ns"].to_numpy()
        column = pa.array(steps[np.searchsorted(begun, sent, side="right")])
        return table.set_column(SENDS.get_field_index("step"), SENDS.field("step"), column)


class PartTally:
    """Counts sends by outcome in the journals of a folder; each part is read once."""

    def __init__(self, folder: ProducerFolder) -> None:
        self._folder = folder
        self._seen: set[Path] = set()
        self._outcomes: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._last_error: str | None = None
        self._open = 0
        self._next = 0.0

    def progress(self) -> Progress:
        """The counts, at most half a second old."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _READ_SECONDS
            self._read()
        outcomes = {one.value: self._outcomes[one.value] for one in SendOutcome}
        return Progress(
            sent=sum(outcomes.values()) + self._open,
            last_error=self._last_error,
            errors=dict(self._errors),
            **outcomes,
        )

    def _read(self) -> None:
        self._open = 0
        for folder in self._folder.producers().values():
            for part in sorted((folder / SENDS_DIR).glob(PARTS)):
                if part not in self._seen:
                    self._seen.add(part)
                    self._count(part)
            # Its producer may have closed the journal meanwhile.
            with suppress(JournalError):
                waiting = folder / SENDS_DIR / OPEN_SENDS
                self._open += sum(table.num_rows for table in part_batches(waiting, ["seq"]))

    def _count(self, part: Path) -> None:
        # A damaged part is a problem of the run, which the end of the run reports.
        with suppress(JournalError):
            for table in part_batches(part, ["outcome", "error"]):
                self._outcomes.update(table["outcome"].to_pylist())
                errors = pc.drop_null(table["error"]).to_pylist()
                self._errors.update(errors)
                self._last_error = errors[-1] if errors else self._last_error


def _ended(file: Path) -> bool:
    """Whether the last line of a file of events is `end`."""
    try:
        with file.open("rb") as source:
            source.seek(max(0, file.stat().st_size - 200))
            return b'"end"' in source.read().rstrip().rpartition(b"\n")[2]
    except OSError:
        return False
