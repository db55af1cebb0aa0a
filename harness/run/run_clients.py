"""Producers and live readers of one run, with the journals that they write."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from harness.model.group_journal import ASSIGNMENTS, ASSIGNMENTS_DIR, COMMITS, COMMITS_DIR
from harness.model.journal import LIVE_DIR, SENDS_DIR, TRANSACTIONS, TRANSACTIONS_DIR, RowSink
from harness.run.arm_setting import ArmSetting
from harness.run.client_factory import reader_clients
from harness.run.workloads import CONSUMERS, PRODUCERS
from workloads.base import ArmProducers, RunningWorkload
from workloads.records.journal.parquet_parts import ClosesAtEnd
from workloads.records.journal.row_journal import RowJournal
from workloads.records.producer.send_journal import SendJournal
from workloads.records.reader.reader_journal import NO_SINKS, ReaderSinks, Source
from workloads.records.reader.readers import Readers

_INTERRUPTED_CLOSE_SECONDS = 0.5
_CLOSE_MARGIN_SECONDS = 5.0
_CATCH_UP_SECONDS = 60.0
_READY_SECONDS = 60.0


class AnsweredCommits:
    """Passes rows of commits on to a journal, and those without an error to an arm's workloads."""

    def __init__(self, sink: RowSink, running: Sequence[RunningWorkload]) -> None:
        self._sink = sink
        self._running = running

    def append(self, row: dict[str, Any]) -> None:
        self._sink.append(row)
        if row["error"] is None:
            for workload in self._running:
                workload.commit_answered(row)


class RunClients(ClosesAtEnd):
    """The producers and readers of one arm, and the clients of its workloads (`running`). A journal exists
    only if the arm has clients that write it.

    Use as a context manager or call `close`.

    Raises:
        BadInput: the client refuses the settings of producers or readers.
    """

    def __init__(self, setting: ArmSetting, running: Sequence[RunningWorkload] = ()) -> None:
        spec, cluster, topic, folder = setting.workload_spec, setting.cluster, setting.topic, setting.folder
        self._running = running
        self.delivery_seconds = setting.arm.producer.delivery_timeout_ms / 1000
        self._transaction_seconds = setting.transaction_seconds
        self._close_seconds = spec.close_seconds or self.delivery_seconds + _CLOSE_MARGIN_SECONDS
        with ExitStack() as stack:
            processing = 0 if spec.process is None else spec.process.members
            elsewhere = {spec.producers + number: setting.processed_topic for number in range(processing)}
            self.sends = stack.enter_context(
                SendJournal(folder / SENDS_DIR, setting.input_name, topics=elsewhere)
            )
            self.transactions: RowSink | None = None
            if spec.transactional:
                self.transactions = stack.enter_context(RowJournal(folder / TRANSACTIONS_DIR, TRANSACTIONS))
            readers = setting.experiment.readers_of(setting.arm)
            self.sinks = NO_SINKS
            if readers or processing or spec.poll_readers or setting.experiment.commits_offsets:
                assignments = stack.enter_context(RowJournal(folder / ASSIGNMENTS_DIR, ASSIGNMENTS))
                commits = stack.enter_context(RowJournal(folder / COMMITS_DIR, COMMITS))
                self.sinks = ReaderSinks(assignments, AnsweredCommits(commits, running))
            self.source = Source(
                bootstrap=cluster.bootstrap,
                topic=topic,
                partitions=setting.partitions,
                run_id=setting.run_id,
                folder=folder / LIVE_DIR,
                sinks=self.sinks,
                security=cluster.access.properties,
            )
            of_readers = reader_clients(readers, cluster, CONSUMERS)
            self.readers = stack.enter_context(Readers(readers, self.source, of_readers))
            for workload in running:
                workload.connect(self, stack)
            self.producers: ArmProducers = PRODUCERS[spec.client](setting, self, running)
            stack.callback(self.producers.close)
            self._open = stack.pop_all()

    def start(self) -> None:
        """Wait until the producers are ready, so that no step includes this; then start the readers."""
        self.producers.ready(_READY_SECONDS)
        self.readers.start()
        for workload in self._running:
            workload.start()

    def end(self) -> list[str]:
        """Close the producers, and the readers when they have reached the end; returns what went wrong.

        Raises:
            JournalError: a journal could not be written.
        """
        self.producers.close(self._close_seconds)
        # read_committed readers wait at an open transaction until its coordinator ends it.
        seconds = _CATCH_UP_SECONDS + (self._transaction_seconds or 0.0)
        caught_up = self.readers.catch_up(time.monotonic() + seconds)
        unread = "; ".join(self.readers.unread)
        self.readers.close()
        problems = [problem for workload in self._running for problem in workload.end()]
        if not caught_up:
            problems.append(f"not every reader reached the end of the topic within {seconds:g} s: {unread}")
        return problems

    def abort(self) -> None:
        """Close everything without waiting for reports or readers."""
        self.producers.close(_INTERRUPTED_CLOSE_SECONDS)
        self.readers.close(give_up=True)
        for workload in self._running:
            workload.abort()

    @property
    def problems(self) -> tuple[str, ...]:
        of_workloads = (problem for workload in self._running for problem in workload.problems)
        return (*self.producers.problems, *self.readers.problems, *of_workloads)

    def close(self) -> None:
        """Close what is still open."""
        self._open.close()
