"""An application under test as it runs: started, watched, controlled by faults, drained and stopped."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from harness.model.application_meta import ApplicationExit
from harness.model.errors import KafkaChaosError
from harness.model.journal import RowSink
from harness.model.node_layout import FIRST_APPLICATION_ID
from harness.model.polling import poll_within
from harness.model.progress import SEPARATOR, report_progress
from harness.spec.wait_conditions import ApplicationState
from workloads.applications.application_spec import ApplicationSpec, DrainedWhen, ReadyWhen
from workloads.applications.conditions import (
    Drain,
    describe_table_flood,
    describe_topic_flood,
    describe_unready,
)
from workloads.applications.container_instance import Instance
from workloads.applications.group_watch import GroupWatch
from workloads.applications.log_errors import log_errors
from workloads.applications.start_up import await_no_other_members, await_ready

_DRAINING = "waiting until the application has nothing left to do"
_WATCH_SECONDS = 0.25
_FLOOD_SECONDS = 2.0
OTHERS_SECONDS = 60.0
"""More than session.timeout.ms (45 s by default), after which killed members leave their group (KIP-735)."""


class RunningApplication:
    """All instances of one application, by their node ids (from `FIRST_APPLICATION_ID`).

    `output` asks about its output topic, by `ends`; None: each instance writes a table, in its folder of
    `tables`. `value_bytes` is the size of an input's value. `checkpoints` reads the offsets up to which the
    input is processed. `events` takes rows of APPLICATION_EVENTS.
    """

    def __init__(
        self,
        spec: ApplicationSpec,
        instances: Sequence[Instance],
        group: GroupWatch,
        *,
        ready: ReadyWhen,
        drained: DrainedWhen,
        output: GroupWatch | None,
        tables: Sequence[str],
        value_bytes: int,
        checkpoints: Callable[[], Mapping[int, int]] | None,
        events: RowSink,
    ) -> None:
        self.spec, self.group = spec, group
        self.instances = dict(enumerate(instances, start=FIRST_APPLICATION_ID))
        self.drained = False
        self.exits: list[ApplicationExit] = []
        self.problems: list[str] = []
        self._ready, self._drained_when = ready, drained
        self._output, self._tables, self._value_bytes = output, tables, value_bytes
        self._checkpoints, self._events = checkpoints, events
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._down: set[int] = set()
        """Instances that a fault, or the end of the run, has told to end; their end is expected."""
        self._ended: set[int] = set()
        self._restarts = dict.fromkeys(self.instances, 0)
        self._watcher = threading.Thread(target=self._watch, name="application", daemon=True)

    def start(self) -> None:
        """Start every instance, and wait until the application is ready.

        Raises:
            BadInput: an instance cannot be started.
            ClusterError: its group has members already, an instance ends, or it is not ready in time.
        """
        await_no_other_members(self.group, OTHERS_SECONDS)
        for node in self.instances:
            self.start_instance(node)
        report_progress("waiting until the application is ready")
        await_ready(tuple(self.instances.values()), self._unready, self._ready.within)
        for node in self.instances:
            self._note(node, "ready")
        self._watcher.start()

    def start_instance(self, node: int) -> bool:
        """Start an instance that does not run, with the same state as before; returns whether it had to be.

        Raises:
            BadInput: it cannot be started.
        """
        with self._lock:
            instance = self.instances[node]
            if self._over.is_set() or (node not in self._down and instance.is_running()):
                return False
            again = instance.started_ns() > 0
            checkpoint = self._checkpoint() if again else None
            instance.start()
            self._down.discard(node)
            self._ended.discard(node)
            self._note(node, "restarted" if again else "started", pid=instance.pid, checkpoint=checkpoint)
        return True

    def end_instance(self, node: int, how: Callable[[Instance], None], event: str) -> None:
        """End an instance by `how`, and record that the harness did it: it does not count as a crash."""
        with self._lock:
            self._down.add(node)
            how(self.instances[node])
            self._note(node, event, pid=self.instances[node].pid)

    def drain(self) -> None:
        """Wait until it has nothing left to do. What prevents this is added to `problems`."""
        report_progress(_DRAINING)
        drain = self._drain()

        def missing() -> str | None:
            with self._lock:  # One that is being started again has not ended.
                if self._ended or self._over.is_set():
                    return None
            if not all(instance.is_running() for instance in self.instances.values()):
                return "an instance does not run"
            if self.spec.must_fail:
                return "`must_fail` asks for its end with an error"
            left = self._unready() or drain.missing()
            if left is not None:
                report_progress(SEPARATOR.join((_DRAINING, left)))
            return left

        left = poll_within(self._drained_when.within, missing, every=0.25)
        if self._over.is_set():
            return
        if self._ended:
            self.problems += [
                self._end_of(node) for node in sorted(self._ended) if not self._had_to_end(node)
            ]
            return
        if left is not None:
            within = self._drained_when.within
            self.problems.append(f"the application has not drained within {within:g} s: {left}")
            return
        if self._output is not None and not self.output_records() and any(self.group.ends().values()):
            self.problems.append(self._nothing_written(self._output.topic))
            return
        self.drained = True
        for node in self.instances:
            self._note(node, "drained", checkpoint=self._checkpoint())

    def _nothing_written(self, topic: str) -> str:
        """Why its output may be empty: the errors of its log, and what its group has committed."""
        with self._lock:
            errors = str(log_errors(instance.log_since(0) for instance in self.instances.values()))
            lines = next(iter(self.instances.values())).last_lines()
        done = self.group.group is not None and self.group.describe_lag(0) is None
        passed = f", and its group {self.group.group} has committed all of its input" if done else ""
        why = f"Its log has {errors}" if errors else f"Does it write to another one? Its last lines: {lines}"
        return f"the application has written nothing to its output topic {topic}{passed}. {why}"

    def _checkpoint(self) -> dict[int, int] | None:
        """The offsets up to which the input is processed, by partition; None: it leaves none."""
        try:
            return (dict(self._checkpoints()) if self._checkpoints is not None else {}) or None
        except (OSError, ValueError):
            return None  # It is being written.

    @property
    def failed(self) -> bool:
        """Whether every instance has ended by itself with an error, as `must_fail` asks."""
        return self._ended == set(self.instances) and all(map(self._had_to_end, self._ended))

    def await_state(self, wanted: ApplicationState, within: float) -> str | None:
        """Wait until it has drained or its output has enough offsets; returns what is missing at the end."""
        if wanted == "drained":
            drain = self._drain()
            return poll_within(within, lambda: self._unready() or drain.missing(), every=0.25)
        at_least = wanted.output

        def missing() -> str | None:
            records = self.output_records()
            return None if records >= at_least else f"its output has {records:,} offsets of {at_least:,}"

        return poll_within(within, missing)

    def stop(self) -> None:
        """Stop every instance, gracefully if it does so. Safe to call again."""
        self._over.set()
        with self._lock:
            for node, instance in self.instances.items():
                if node not in self._down and instance.is_running():
                    self._down.add(node)
                    instance.stop()
                    self._note(node, "stopped", code=instance.exit_code())

    def remove(self) -> None:
        """End every instance at once, and remove what is left of it. Safe to call again."""
        self._over.set()
        with self._lock:
            for instance in self.instances.values():
                with suppress(KafkaChaosError):
                    instance.remove()

    def output_records(self) -> int:
        """The number of offsets of the output topic that are used now; of a table 0."""
        return 0 if self._output is None else sum(self._output.ends().values())

    def _unready(self) -> str | None:
        """Why an instance is not ready yet; what it left before it was started again does not tell."""
        return describe_unready(self._ready, self.instances.values(), self.group)

    def _drain(self) -> Drain:
        return Drain(self._drained_when, self.group, self._output_size, self._checkpoints)

    def _output_size(self) -> object:
        if self._output is not None:
            return self._output.ends()
        return [instance.table_size(folder) for instance, folder in self._table_folders()]

    def _table_folders(self) -> Iterator[tuple[Instance, str]]:
        """Each instance with the folder of its table."""
        return zip(self.instances.values(), self._tables, strict=True)

    def _watch(self) -> None:
        looked = time.monotonic()
        while not self._over.wait(_WATCH_SECONDS):
            for node in self.instances:
                self._look_at(node)
            if time.monotonic() - looked > _FLOOD_SECONDS:
                self._look_for_flood()
                looked = time.monotonic()

    def _look_at(self, node: int) -> None:
        with self._lock:
            instance = self.instances[node]
            if self._over.is_set() or node in self._down or node in self._ended or instance.is_running():
                return
            # Before anything else: until it has started again, it has ended.
            self._ended.add(node)
            code, lines = instance.exit_code(), instance.last_lines()
            self._note(node, "exited", code=code, last_lines=lines)
            again = self._restarts[node] < self.spec.restarts
            number, now = node - FIRST_APPLICATION_ID, time.time_ns()
            self.exits.append(
                ApplicationExit(at_ns=now, instance=number, code=code, last_lines=lines, again=again)
            )
            if again:
                self._restarts[node] += 1
                with suppress(KafkaChaosError):
                    self.start_instance(node)

    def _had_to_end(self, node: int) -> bool:
        """Whether it ended with an error, as `must_fail` asks."""
        return self.spec.must_fail and bool(self.instances[node].exit_code())

    def _end_of(self, node: int) -> str:
        instance = self.instances[node]
        return (
            f"{instance.name} ended by itself with code {instance.exit_code()}; "
            f"its last lines: {instance.last_lines()}"
        )

    def _look_for_flood(self) -> None:
        ends = self.group.ends()
        if len(ends) < self.group.partitions:
            return  # Without the ends of all inputs there is nothing to compare with.
        inputs = sum(ends.values())
        if self._output is not None:
            flood = describe_topic_flood(self.spec, inputs, self.output_records())
        else:
            written = sum(instance.table_bytes(folder) for instance, folder in self._table_folders())
            flood = describe_table_flood(self.spec, inputs, written, self._value_bytes)
        if flood is None:
            return
        self.problems.append(flood)
        self._over.set()
        for node in self.instances:
            self.end_instance(node, lambda instance: instance.kill(), "killed")

    def _note(self, node: int, event: str, **detail: Any) -> None:
        self._events.append(
            {
                "at_ns": time.time_ns(),
                "instance": node - FIRST_APPLICATION_ID,
                "event": event,
                "detail": json.dumps({name: value for name, value in detail.items() if value is not None}),
            }
        )
