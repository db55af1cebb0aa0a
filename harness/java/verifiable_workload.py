"""A workload of VerifiableProducers, with the same steps as that of librdkafka
(`workloads.producer.producers.Workload`)."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Self

from harness.cluster.managed import ManagedCluster
from harness.containers import engine
from harness.java.verifiable_producer import CONFIG_FILE, JavaProcess, await_all, tools_bootstrap
from harness.model.errors import BadInput
from harness.model.secrets import format_settings
from workloads.config.java_settings import arguments, java_properties, properties_text
from workloads.config.spec import ProducerSettings, WorkloadSpec
from workloads.interop.live_sends import LiveSends, highest_read
from workloads.interop.sends import ForeignSends
from workloads.producer.producers import CLOSE_SECONDS, even_share
from workloads.producer.tally import Progress

_START_SECONDS = 60.0
_KILLED_SECONDS = 10.0


class JavaWorkload:
    """VerifiableProducers that write one topic, step by step.

    Each write step starts new processes, so each has its own producers, numbered from the number of earlier
    write steps times `spec.producers` on. The duration of a step begins when all of them have started. They
    write their own journal, in `folder`. Use as a context manager or call `close`.
    """

    def __init__(
        self,
        spec: WorkloadSpec,
        settings: ProducerSettings,
        *,
        cluster: ManagedCluster,
        topic: str,
        folder: Path,
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._cluster = cluster
        self._topic = topic
        self._client = engine.connect()
        self._journal = LiveSends(folder)
        self._processes: list[JavaProcess] = []
        self._timer: threading.Timer | None = None
        self._steps = 0
        self._closed = False

    def ready(self, seconds: float) -> bool:  # noqa: ARG002
        """Whether writing may begin: always, because each step starts new processes."""
        return True

    def start(
        self,
        step: int,
        *,
        records: int | None = None,
        seconds: float | None = None,
        rate: float | None = None,
    ) -> None:
        """Begin a write step; returns once every producer has started. Arguments as for `Workload.start`.

        Raises:
            BadInput: the client refuses the settings.
            ClusterError: a container could not be started.
            RuntimeError: the workload is closed.
        """
        if self._closed:
            raise RuntimeError("the workload is closed")
        rate = rate if rate is not None else self._spec.rate
        count = self._spec.producers
        first = self._steps * count
        self._steps += 1
        started = []
        for index in range(count):
            mine = None if records is None else even_share(records, count, index)
            if mine != 0:
                started.append(self._begin(step, first + index, mine, None if rate is None else rate / count))
        until = time.monotonic() + _START_SECONDS
        for process in started:
            if not process.started(until - time.monotonic()):
                self._raise_refusal(process)
        if seconds is not None:
            self._timer = threading.Timer(seconds, self._end, [started])
            self._timer.daemon = True
            self._timer.start()

    def _begin(self, step: int, number: int, records: int | None, rate: float | None) -> JavaProcess:
        bootstrap = tools_bootstrap(self._cluster)
        given = arguments(
            self._cluster.image.kafka_version,
            bootstrap=bootstrap,
            topic=self._topic,
            prefix=number,
            acks=self._settings.acks,
            config_file=CONFIG_FILE,
            records=records,
            rate=rate,
            keys=self._spec.keys,
        )
        sends = ForeignSends(
            self._settings.acks,
            topic=self._topic,
            producer=number,
            step=step,
            keys=self._spec.keys,
            most=records,
        )
        text = properties_text({**self._cluster.access.java(), **java_properties(self._settings, bootstrap)})
        process = JavaProcess(self._client, self._cluster, number, given, text, sends, self._journal)
        self._processes.append(process)
        return process

    def _raise_refusal(self, process: JavaProcess) -> None:
        given = format_settings(self._settings.properties())
        raise BadInput(
            "the Java producer did not start",
            where=f"producer settings: {given}",
            expected="properties and values that the Java client knows and that fit together",
            found=process.last_message(),
            next_step="correct the named property; Kafka's documentation lists them (Producer Configs)",
        )

    def finish(self, deadline: float | None = None) -> bool:
        """As `Workload.finish`: wait until every process has ended, which it does after its last report."""
        until = time.monotonic() + 10**6 if deadline is None else deadline
        done = await_all(self._processes, until)
        self._raise_failure()
        return done

    def stop(self) -> None:
        """End producing early; reports are still waited for by `finish`."""
        self._end(self._processes)

    @staticmethod
    def _end(processes: list[JavaProcess]) -> None:
        for process in processes:
            if process.running:
                process.end()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Wait at most `seconds` for deliveries, kill the remaining processes, and remove the containers.

        Safe to call again.

        Raises:
            JournalError: the journal could not be written.
        """
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.stop()
        if not await_all(self._processes, time.monotonic() + seconds):
            for process in self._processes:
                if process.running:
                    process.end("SIGKILL")
            await_all(self._processes, time.monotonic() + _KILLED_SECONDS)
        for process in self._processes:
            process.remove()
        self._journal.close()
        self._raise_failure()

    def journal_unreported(self, reads: Path) -> int:
        """Journal the sends that have no report, after the final read (`reads` is its folder); returns their
        number.

        Values are consecutive numbers: every unreported one up to the highest that was read has been sent.
        """
        return self._journal.unreported([process.sends for process in self._processes], highest_read(reads))

    def progress(self) -> Progress:
        """Counts over all steps so far; sends without a report are not included."""
        return self._journal.progress()

    @property
    def problems(self) -> tuple[str, ...]:
        """Processes that ended by themselves, and output that could not be used, in words."""
        found = []
        for process in self._processes:
            name = f"producer {process.number} (Java)"
            sends = process.sends
            if process.exit_code is not None and not sends.ended and not process.stopped:
                found.append(
                    f"{name} ended by itself with code {process.exit_code}: {process.last_message()}"
                )
            if sends.lines.damaged or sends.foreign or sends.reported_again:
                odd = (
                    f"{sends.lines.damaged} damaged, {sends.foreign} foreign, {sends.reported_again} repeated"
                )
                found.append(f"{name} printed lines that cannot be used: {odd}")
        return tuple(found)

    def _raise_failure(self) -> None:
        for process in self._processes:
            if process.failure is not None:
                raise process.failure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
