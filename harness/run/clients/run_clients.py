"""Producers and live readers of one run, with the journals that they write."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from harness.model.journal import (
    ASSIGNMENTS,
    ASSIGNMENTS_DIR,
    COMMITS,
    COMMITS_DIR,
    LIVE_DIR,
    SENDS_DIR,
    TRANSACTIONS,
    TRANSACTIONS_DIR,
)
from harness.model.polling import wait_until
from harness.run.arm_setting import ArmSetting
from harness.run.clients.client_factory import reader_clients, start_workload
from harness.run.clients.share_groups import ShareGroups
from harness.run.offsets.memberless_commits import MemberlessCommits
from harness.run.offsets.pollers import AnsweredCommits
from harness.spec.group_steps import RestartReader
from workloads.journal.parquet_parts import ClosesAtEnd
from workloads.journal.row_journal import RowJournal
from workloads.producer.processor import ProcessorOutput, processors, reader_spec_of
from workloads.producer.send_journal import SendJournal
from workloads.reader.live_reader import LiveReader
from workloads.reader.reader_journal import NO_SINKS, ReaderSinks, Source
from workloads.reader.readers import Readers

_INTERRUPTED_CLOSE_SECONDS = 0.5
_CLOSE_MARGIN_SECONDS = 5.0
_CATCH_UP_SECONDS = 60.0
_READY_SECONDS = 60.0


class RunClients(ClosesAtEnd):
    """The producers and readers of one arm. A journal exists only if the arm has clients that write it.
    `answered` is called with every commit that was answered, as a row of the commits journal.

    Use as a context manager or call `close`.

    Raises:
        BadInput: the client refuses the settings of producers or readers.
    """

    def __init__(
        self, setting: ArmSetting, answered: Callable[[Mapping[str, Any]], None] | None = None
    ) -> None:
        spec, cluster, topic, folder = setting.workload_spec, setting.cluster, setting.topic, setting.folder
        settings = setting.arm.producer
        self.delivery_seconds = settings.delivery_timeout_ms / 1000
        self._transaction_seconds = setting.transaction_seconds
        with ExitStack() as stack:
            processing = 0 if spec.process is None else spec.process.members
            elsewhere = {spec.producers + number: setting.processed_topic for number in range(processing)}
            journal = stack.enter_context(
                SendJournal(folder / SENDS_DIR, setting.input_name, topics=elsewhere)
            )
            transactions = None
            if spec.transactional:
                transactions = stack.enter_context(RowJournal(folder / TRANSACTIONS_DIR, TRANSACTIONS))
            readers = setting.experiment.readers_of(setting.arm)
            sinks = NO_SINKS
            if readers or processing or spec.poll_readers or setting.experiment.commits_offsets:
                assignments = stack.enter_context(RowJournal(folder / ASSIGNMENTS_DIR, ASSIGNMENTS))
                commits = stack.enter_context(RowJournal(folder / COMMITS_DIR, COMMITS))
                sinks = ReaderSinks(
                    assignments, commits if answered is None else AnsweredCommits(commits, answered)
                )
            self.commits = MemberlessCommits(cluster, topic, sinks.commits)
            stack.callback(self.commits.end)
            source = Source(
                bootstrap=cluster.bootstrap,
                topic=topic,
                partitions=setting.partitions,
                run_id=setting.run_id,
                folder=folder / LIVE_DIR,
                sinks=sinks,
                security=cluster.access.properties,
            )
            self.readers = stack.enter_context(Readers(readers, source, reader_clients(readers, cluster)))
            if spec.process is not None and transactions is not None:
                output = ProcessorOutput(
                    setting.processed_topic, spec, settings, setting.seed, journal, transactions
                )
                self.readers.add(reader_spec_of(spec.process), processors(spec.process, output, source))
            polled: dict[int, LiveReader] = {}
            for number, of_producer in enumerate(spec.poll_readers):
                reader = LiveReader(of_producer, of_producer.name, source)
                reader.producer = number
                self.readers.add(of_producer, [reader])
                polled[number] = reader
            self.share = stack.enter_context(ShareGroups(setting))
            if spec.process is not None and not spec.transactions:
                transactions = None
            self.workload = start_workload(setting, journal, transactions, self.commits, polled)
            stack.callback(self.workload.close)
            self._open = stack.pop_all()

    def start(self) -> None:
        """Wait until the producers are ready, so that no step includes this; then start the readers."""
        self.workload.ready(_READY_SECONDS)
        self.readers.start()
        self.share.start()

    def end(self) -> list[str]:
        """Close the producers, and the readers when they have reached the end; returns what went wrong.

        Raises:
            JournalError: a journal could not be written.
        """
        self.workload.close(self.delivery_seconds + _CLOSE_MARGIN_SECONDS)
        # read_committed readers wait at an open transaction until its coordinator ends it.
        seconds = _CATCH_UP_SECONDS + (self._transaction_seconds or 0.0)
        caught_up = self.readers.catch_up(time.monotonic() + seconds)
        places = "; ".join(self.readers.places)
        self.readers.close()
        self.commits.end()
        problems = self.share.drain()
        self.share.close()
        if not caught_up:
            problems.append(f"not every reader reached the end of the topic within {seconds:g} s: {places}")
        return problems

    def abort(self) -> None:
        """Close everything without waiting for reports or readers."""
        self.workload.close(_INTERRUPTED_CLOSE_SECONDS)
        self.readers.close(give_up=True)
        self.share.close(give_up=True)

    @property
    def problems(self) -> tuple[str, ...]:
        return (*self.workload.problems, *self.readers.problems, *self.share.problems)

    def close(self) -> None:
        """Close what is still open."""
        self._open.close()


def restart_reader(members: Sequence[LiveReader], step: RestartReader) -> None:
    """Give every member a new client, as the step says.

    Raises:
        ClusterError: they do not receive the records in time, or the new clients do not subscribe.
    """
    before = [member.clients for member in members]
    if all(member.away for member in members):
        for member in members:
            member.come_back()
    else:
        _leave(members, step)

    def unchanged() -> str | None:
        names = [
            member.name
            for member, count in zip(members, before, strict=True)
            if not (member.away if step.away else member.clients > count)
        ]
        return ", ".join(names) or None

    state = "no client" if step.away else "a new client"
    wait_until(unchanged, what=f"every member of reader {step.reader} has {state}", seconds=step.within)


def _leave(members: Sequence[LiveReader], step: RestartReader) -> None:
    def too_few() -> str | None:
        received = sum(member.received for member in members)
        return None if received >= step.received else f"they have received {received:,}"

    what = f"the members of reader {step.reader} have received {step.received:,} records"
    wait_until(too_few, what=what, seconds=step.within)
    time.sleep(step.after)
    for member in members:
        leave = member.crash if step.crash else member.restart
        leave(away=step.away)
