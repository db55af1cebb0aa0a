"""The workload of a run whose producers are the user's: waits for them and takes over their journals."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from harness.model.errors import BadInput
from harness.model.journal import RowSink
from harness.model.progress import report_progress
from workloads.own.client_settings import ClientSettings
from workloads.own.event_tally import EventTally
from workloads.own.journal_files import take_over_files
from workloads.own.journaled_client import open_in
from workloads.own.json_events import has_ended
from workloads.own.producer_folder import ProducerFolder
from workloads.own.started_programs import StartedPrograms
from workloads.own.take_over import Steps, Times
from workloads.records.producer.reports import Progress
from workloads.records.producer.send_journal import SendJournal

CLOSE_SECONDS = 10.0
IDLE_SECONDS = 2.0
"""After the run, a producer of this process that has sent nothing for this long counts as finished."""
_POLL_SECONDS = 0.05


class OwnProducers:
    """Has the methods of `workloads.records.producer.producers.Producers`, for producers that this process
    does not drive.

    `expected` is the number of producers that must open a journal in `folder`. A write step ends after its
    `seconds`, or as soon as all have closed, or none of the `programs` that the run has started is left.
    `close` ends these, and moves the journals into the run's; `ids` takes the keys of records and
    the ids that they have of their own (rows of SENT_IDS).
    """

    def __init__(
        self,
        folder: ProducerFolder,
        expected: int,
        journal: SendJournal,
        transactions: RowSink | None,
        *,
        programs: StartedPrograms | None = None,
        ids: RowSink | None = None,
    ) -> None:
        self._folder = folder
        self._expected = expected
        self._journal = journal
        self._transactions = transactions
        self._programs = programs
        self._ids = ids
        self._until: float | None = None
        self._steps: list[tuple[int, int]] = []
        self._tally = EventTally(folder)
        self._problems: list[str] = []
        self._closed = False
        self._open_in_steps: int | None = None
        """The number of journals at the end of the last write step."""
        self.settings: dict[int, ClientSettings] = {}
        """What the clients of producers say of themselves, by producer, once the workload is closed."""
        self.opened = 0
        """The number of producers that have opened a journal, once the workload is closed."""

    def ready(self, seconds: float) -> bool:
        """Wait until the expected number of producers have opened their journals, or cannot any more."""
        target = self._folder.target()
        report_progress(
            f"waiting for {self._expected} producer(s) of your own, topic {target.topic} on "
            f"{target.bootstrap}"
        )
        deadline = time.monotonic() + seconds
        while self._count() < self._expected and time.monotonic() < deadline and not self._none_left():
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
            if self._none_left():
                break
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        self._open_in_steps = self._count()
        return True

    def stop(self) -> None:
        """Tell the producers that the write steps are over."""
        self._until = None
        self._folder.end()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Wait at most `seconds` until every producer has closed its journal; then end the programs that the
        run has started, and take the journals over. Producers of this process that send nothing any more are
        closed. Safe to call again.

        Raises:
            JournalError: the run's journal cannot be written.
        """
        if self._closed:
            return
        self.stop()
        deadline = time.monotonic() + seconds
        while self._count() and not self._all_closed() and time.monotonic() < deadline:
            if self._none_left():
                break
            for producer in open_in(self._folder.path):
                if producer.idle(IDLE_SECONDS):
                    producer.end(max(0.0, deadline - time.monotonic()))
            time.sleep(_POLL_SECONDS)
        for producer in open_in(self._folder.path):
            producer.end(0.0)
        ended = self._none_left()
        if self._programs is not None:
            self._programs.stop(seconds)
        self._closed = True  # Not before: an interrupted wait is followed by a shorter one.
        self._take_over(None if ended else seconds)

    def progress(self) -> Progress:
        """Counts of what the journals hold so far."""
        return self._tally.progress()

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it is not known what was sent: programs that could not be started, and what is wrong with the
        journals once the workload is closed."""
        not_started = () if self._programs is None else self._programs.problems
        return (*not_started, *self._problems)

    def _count(self) -> int:
        return len(self._folder.event_files())

    def _all_closed(self) -> bool:
        """Whether all expected producers have opened and closed their journals."""
        files = self._folder.event_files()
        return len(files) >= self._expected and all(map(has_ended, files))

    def _none_left(self) -> bool:
        """Whether the run has started the programs and none of them is left."""
        return self._programs is not None and self._programs.ended

    def _take_over(self, waited: float | None) -> None:
        """Take over the journals; `waited` is for how many seconds their ends were waited for (None: nobody
        was left who could write them)."""
        target, files = self._folder.target(), self._folder.event_files()
        unexpected: list[str] = []
        how = "" if self._programs is None else self._programs.describe_ends()
        for one in take_over_files(
            files,
            target,
            self._journal,
            self._transactions,
            ids=self._ids,
            steps=self._steps_of,
            waited=waited,
        ):
            if one.producer is not None:
                self.opened += 1
                if one.settings is not None:
                    self.settings[one.producer] = one.settings
            if one.problem is not None:
                problem = str(one.problem)
                if how and not isinstance(one.problem, BadInput):
                    problem, how = f"{problem}; {how}", ""
                self._problems.append(problem)
            if self._transactions is None and one.transactions:
                unexpected.append(
                    f"producer {one.producer} wrote {one.transactions:,} transactions, which the experiment "
                    "does not expect: set `own: {transactional: true}` below `workload`"
                )
        self._problems += [*self._missing(len(files), how), *unexpected]

    def _missing(self, files: int, how: str) -> Iterator[str]:
        """What is to be said of producers that opened no journal, or too late; `how` the programs ended."""
        in_steps = self._open_in_steps
        if in_steps is not None and in_steps < min(files, self._expected):
            yield (
                f"{files - in_steps} producer(s) opened a journal after the write steps had ended, so that "
                "no fault met what they wrote: open it at once, and write from `begun` on"
            )
        if files >= self._expected or (self._programs is not None and self._programs.problems):
            return
        counted = f"{self._expected} producer(s) of your own were expected, {files} opened a journal; "
        yield counted + (
            how
            or "what a producer writes that is not wrapped is not accounted for: wrap each in "
            "run.journaled(producer), or in another process in kafka_chaos.journaled(producer) "
            "(docs/how-to/own-producer.md)"
        )

    def _steps_of(self, sent_ns: Times) -> Steps:
        """The write step in which each was sent; what was sent before counts to the first."""
        begun = np.array([at_ns for at_ns, _ in self._steps[1:]], dtype=np.int64)
        steps = np.array([step for _, step in self._steps] or [0], dtype=np.int32)
        return steps[np.searchsorted(begun, sent_ns, side="right")]
