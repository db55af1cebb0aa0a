"""Producers that write one step after another and journal each send."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from harness.model.errors import BadInput
from harness.model.journal import RowSink
from harness.model.secrets import format_settings, without_secrets
from workloads.records.clients import client_logger
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.journal.parquet_parts import ClosesAtEnd
from workloads.records.producer.orders import Polled, RecordStream, RivalOrder, StepOrder
from workloads.records.producer.producer_loop import ProducerLoop
from workloads.records.producer.reports import Progress, total
from workloads.records.producer.send_journal import SendJournal

CLOSE_SECONDS = 10.0
_POLL_SECONDS = 0.1


class Producers(ClosesAtEnd):
    """Producers of one topic. Steps come one after another: `start`, then `finish`, then the next.

    Each producer has a client and a thread of its own. The journal is the caller's: close it after the
    producers. Use as a context manager or call `close`. `security` holds the settings of TLS and SASL, by
    librdkafka's names, and `polled`, by the number of a producer, what its transactions take records
    from.

    Raises:
        BadInput: the client refuses the settings.
    """

    def __init__(
        self,
        spec: WorkloadSpec,
        settings: ProducerSettings,
        *,
        bootstrap: str,
        topic: str,
        partitions: int,
        run_id: int,
        seed: int,
        journal: SendJournal,
        transactions: RowSink | None = None,
        client: Callable[..., Any] = Producer,
        security: Mapping[str, str] | None = None,
        polled: Mapping[int, Polled] | None = None,
    ) -> None:
        self._spec = spec
        self._closed = False
        processing = 0 if spec.process is None else spec.process.members
        # Processors have the numbers after the producers.
        self._rival_numbers = count(spec.producers + processing)
        if (spec.transactions is None) != (transactions is None):
            raise ValueError("a transactional workload needs a journal of transactions, and no other does")

        def loop_of(number: int, named: int) -> ProducerLoop:
            name = None if spec.transactions is None else transactional_id(named)
            config = settings.to_librdkafka(bootstrap, name, security)
            connect = partial(make_client, client, settings, config)
            stream = RecordStream(number, topic, partitions, run_id, seed * 1_000_003 + number)
            reader = (polled or {}).get(number)
            return ProducerLoop(connect, stream, spec, settings, journal, transactions, reader)

        self._loop_of = loop_of
        self._loops = [loop_of(number, number) for number in range(spec.producers)]
        for loop in self._loops:
            loop.open()

    def ready(self, seconds: float) -> bool:
        """Wait until every producer may begin (see `ProducerLoop.ready`); False: not within `seconds`."""
        deadline = time.monotonic() + seconds
        return all(loop.ready.wait(max(0.0, deadline - time.monotonic())) for loop in self._loops)

    def start(
        self,
        step: int,
        *,
        records: int | None = None,
        seconds: float | None = None,
        rate: float | None = None,
    ) -> None:
        """Begin a write step over all producers and return at once.

        Sends of an earlier step may still be open; `finish` then waits for these too. The step ends at
        the first limit met: `records` in total, split evenly, or `seconds` of writing; with
        neither, at `stop`. `rate` is in records per second in total (None: the spec's; both None: full
        speed).

        Raises:
            RuntimeError: the previous step is still writing, or the producers are closed.
        """
        self._require_idle()
        loops = [loop for loop in self._loops if not loop.fenced]
        share = len(loops)
        rate = rate if rate is not None else self._spec.rate
        until = None if seconds is None else time.monotonic() + seconds
        for index, loop in enumerate(loops):
            # In an even split, of which the first producers take the remainder.
            mine = None if records is None else records // share + (index < records % share)
            loop.start(StepOrder(step, mine, until, None if rate is None else rate / share))

    def begin_rival(self, step: int, rival: RivalOrder) -> list[str]:
        """Begin a step in whose midst a rival of producer `of` begins, and return at once, without a problem:
        `finish` waits for its end. From then on the rival is one of the producers, and `of` is none if it was
        fenced.

        Producer `of` sends `records` in a transaction. When these have their reports, the rival is
        initialised, with the transactional.id of `of` (or with one of its own: `same_id` False), and sends
        `records`. Then `of` sends `records` more in its transaction and asks to commit it.

        Raises:
            RuntimeError: as `start`.
        """
        self._require_idle()
        number = next(self._rival_numbers)
        of, records = rival.of, rival.records
        made = self._loop_of(number, of if rival.same_id else number)
        self._loops.append(made)

        def begins(stopped: Callable[[], bool]) -> bool:
            if not stopped():
                made.open()
                made.start(StepOrder(step, records))
            while not made.idle.wait(_POLL_SECONDS) and not stopped():
                pass
            return rival.same_id and made.ready.is_set() and made.fatal is None

        self._loops[of].start(StepOrder(step, records, rival=begins))
        return []

    def _require_idle(self) -> None:
        if self._closed or any(loop.writing for loop in self._loops):
            raise RuntimeError("a write step is still writing, or the workload is closed: finish it first")
        self._raise_failure()

    def finish(self, deadline: float | None = None) -> bool:
        """Wait until the step's records are all produced and each has its report.

        Args:
            deadline: a time.monotonic() value; None: as long as it takes (delivery.timeout.ms after
                the last send, unless the step has no limit).

        Returns:
            False when the deadline came first.

        Raises:
            JournalError: the journal could not be written.
        """
        for loop in self._loops:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not loop.idle.wait(left):
                return False
        self._raise_failure()
        return True

    def stop(self) -> None:
        """End producing early; reports are still waited for by `finish`."""
        for loop in self._loops:
            loop.stop()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Deliver what can be delivered within `seconds`, give up the rest (`indeterminate`), end the
        threads.

        Safe to call again.

        Raises:
            JournalError: the journal could not be written.
        """
        if self._closed:
            return
        self._closed = True
        for loop in self._loops:
            loop.close(seconds)
        for loop in self._loops:
            loop.join()
        self._raise_failure()

    def progress(self) -> Progress:
        """Counts over all steps so far; cheap."""
        return total(loop.tally.progress() for loop in self._loops)

    @property
    def problems(self) -> tuple[str, ...]:
        """Fatal errors of clients: a producer that had one sends no more records."""
        return tuple(
            f"producer {index}: the client had a fatal error and sends no more records: {loop.fatal}"
            for index, loop in enumerate(self._loops)
            if loop.fatal is not None
        )

    def _raise_failure(self) -> None:
        for loop in self._loops:
            if loop.failure is not None:
                raise loop.failure


def transactional_id(producer: int) -> str:
    """The transactional.id of a producer. It is the same in every run, so that an experiment's faults can aim
    at its coordinator: `{coordinator: {transactional_id: kafka-chaos-0}}`."""
    return f"kafka-chaos-{producer}"


def make_client(
    client: Callable[..., Any],
    settings: ProducerSettings,
    config: dict[str, str | int | float | bool],
    on_error: Callable[[KafkaError], None] = lambda _: None,
) -> Any:
    """Create a client with this configuration, which reports its errors to `on_error`.

    Raises:
        BadInput: the client refuses the settings.
    """
    try:
        return client({**config, "error_cb": on_error}, logger=client_logger())
    except KafkaException as error:
        given = format_settings(settings.properties())
        raise BadInput(
            "the Kafka client refuses the producer settings",
            where=f"producer settings: {given}",
            expected="properties and values that librdkafka knows and that fit together",
            found=without_secrets(error.args[0].str(), {name: str(value) for name, value in config.items()}),
            next_step="correct the named property; librdkafka's CONFIGURATION.md lists them all",
        ) from error
