"""Carries out the faults of one write step: asks the schedule every `TICK_SECONDS` what is due, and does it.

Each injection (with its verification) and each heal runs in its own thread, so that a slow one does not delay
the others. All threads are daemons: an interrupted process must not wait until a fault is verified.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial

from faults.schedules.decide import begin, decide, describe_unmet, unfinished
from faults.schedules.state import (
    Decision,
    FaultState,
    HealDecision,
    Now,
    Occurrence,
    Schedule,
    Start,
    to_the_millisecond,
)
from harness.model.broker_views import TopologyView
from harness.model.errors import KafkaChaosError
from harness.run.faults.ledger import FaultDeferred, FaultLedger
from harness.run.faults.open_fault import OpenFault

TICK_SECONDS = 0.05
_AGAIN_SECONDS = 0.5
_OPEN = (FaultState.BEGUN, FaultState.INJECTED, FaultState.SHOWN)


@dataclass(eq=False)
class Scheduler:
    """The faults of one running step. Conditions look at `view`, the last sample, and at `acked`, the number
    of success reports since the run began. What goes wrong is appended to `problems`, in words."""

    schedule: Schedule
    ledger: FaultLedger
    topic: str
    problems: list[str]
    _: KW_ONLY
    view: Callable[[], TopologyView | None]
    acked: Callable[[], int]
    down_before: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[Occurrence, FaultState] = {}
        self._faults: dict[Occurrence, OpenFault] = {}
        self._healing: set[Occurrence] = set()
        self._ended = threading.Event()
        self._cancelled = threading.Event()
        self.unfinished = True
        """Whether a fault is open, or one that is due within the step has not begun."""
        self._thread = threading.Thread(target=self._guarded, name="schedule", daemon=True)

    def start(self) -> None:
        """Begin the step now."""
        self._began = time.monotonic()
        self._acked_before = self.acked()
        self._thread.start()

    def end(self) -> None:
        """End the step: no fault begins any more; those that are open run to their end."""
        self._ended.set()

    def cancel(self) -> None:
        """Stop at once: begin and heal nothing any more."""
        self._cancelled.set()

    def wait(self, seconds: float) -> bool:
        """Wait for at most `seconds` until every fault has ended; returns whether they have."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _guarded(self) -> None:
        try:
            self._run()
        except Exception as error:  # otherwise an error in this thread would be lost
            self.problems.append(f"the schedule of faults broke: {error!r}")

    def _run(self) -> None:
        state = begin(self.schedule)
        while not self._cancelled.is_set():
            # Read before the clock: a fault that is due at the last moment must not begin after the end.
            ended = self._ended.is_set()
            seconds = time.monotonic() - self._began
            with self._lock:
                states = dict(self._states)
            now = Now(
                seconds=seconds,
                phases=states,
                view=self.view(),
                topic=self.topic,
                acked=self.acked() - self._acked_before,
                down_before=self.down_before,
                ended=ended,
            )
            decisions, state = decide(self.schedule, state, now)
            for decision in decisions:
                self._carry_out(decision)
            self.unfinished = unfinished(self.schedule, state)
            if (ended or self.schedule.over(seconds)) and not state.busy:
                self.problems += describe_unmet(self.schedule, state)
                return
            self._cancelled.wait(TICK_SECONDS)

    def _carry_out(self, decision: Decision) -> None:
        if isinstance(decision, Start):
            self._set_state(decision.occurrence, FaultState.BEGUN)
            # Here, not in the thread: names, and so random choices, depend on the order of decisions.
            name = self.ledger.reserve_name(decision.fault)
            self._start_thread(partial(self._inject, decision, name), name)
        elif isinstance(decision, HealDecision):
            with self._lock:
                self._healing.add(decision.occurrence)
            self._start_thread(partial(self._heal, decision.occurrence), "heal")
        else:
            self.problems.append(decision.why)

    def _inject(self, start: Start, name: str) -> None:
        occurrence = start.occurrence
        why = {
            "entry": self.schedule.tracks[occurrence.track].where,
            "due": to_the_millisecond(start.due),
            "at": to_the_millisecond(start.at),
            "for": start.lasting,
        }
        if self._cancelled.is_set():
            return
        with self._failing(occurrence):
            try:
                fault = self.ledger.inject(start.fault, name, why, yielding=True)
            except FaultDeferred:
                self._set_state(occurrence, FaultState.PUT_OFF)
                return
            self._faults[occurrence] = fault
            self._set_state(occurrence, FaultState.INJECTED)
            self.ledger.verify(fault)
            self._set_state(occurrence, FaultState.SHOWN)

    def _heal(self, occurrence: Occurrence) -> None:
        with self._failing(occurrence):
            fault = self._faults[occurrence]
            while not self._cancelled.is_set():
                self.ledger.heal(fault)
                if fault.closed_ns is not None:
                    self._set_state(occurrence, FaultState.HEALED)
                    return
                # It is undone, but the cluster is not healthy while other faults are open. If those belong to
                # another step, or are being healed too, the heal at the end of the run decides.
                if not self._others_stay(occurrence):
                    self._set_state(occurrence, FaultState.FAILED)
                    return
                self._cancelled.wait(_AGAIN_SECONDS)

    @staticmethod
    def _start_thread(work: Callable[[], None], name: str) -> None:
        threading.Thread(target=work, name=f"fault-{name}", daemon=True).start()

    @contextmanager
    def _failing(self, occurrence: Occurrence) -> Iterator[None]:
        """Keep an error as a problem of the run; the fault then counts as failed."""
        try:
            yield
        except Exception as error:  # whatever it is
            where = self.schedule.tracks[occurrence.track].where
            known = isinstance(error, KafkaChaosError)
            self.problems.append(str(error) if known else f"{where} broke: {error!r}")
            self._set_state(occurrence, FaultState.FAILED)

    def _others_stay(self, mine: Occurrence) -> bool:
        """Whether another fault of this step is open and not yet being healed."""
        with self._lock:
            return any(
                state in _OPEN and other != mine and other not in self._healing
                for other, state in self._states.items()
            )

    def _set_state(self, occurrence: Occurrence, state: FaultState) -> None:
        with self._lock:
            self._states[occurrence] = state
