"""Carries out the faults of one write step: asks the schedule what to do, a few times a second, and does it.

Injecting with its verification, and healing, happen in threads of their own: one that takes long holds up
no other. All threads are daemons: an interrupted process must not wait for a fault that is being proved.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from faults.schedules.decide import begin, decide, describe_unmet
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
from harness.run.fault_ledger import FaultDeferred, FaultLedger, OpenFault

TICK_SECONDS = 0.05
_AGAIN_SECONDS = 0.5
_OPEN = (FaultState.BEGUN, FaultState.INJECTED, FaultState.SHOWN)


class Scheduler:
    """The faults of one step under way. `view` and `acked` tell what conditions look at: the last sample,
    and success reports since the run began; `problems` gets what went wrong, in words."""

    def __init__(
        self,
        schedule: Schedule,
        book: FaultLedger,
        topic: str,
        problems: list[str],
        *,
        view: Callable[[], TopologyView | None],
        acked: Callable[[], int],
        down_before: int = 0,
    ) -> None:
        self._schedule = schedule
        self._book = book
        self._topic = topic
        self._problems = problems
        self._view = view
        self._acked = acked
        self._down_before = down_before
        self._lock = threading.Lock()
        self._phases: dict[Occurrence, FaultState] = {}
        self._faults: dict[Occurrence, OpenFault] = {}
        self._healing: set[Occurrence] = set()
        self._ended = threading.Event()
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._guarded, name="schedule", daemon=True)

    def start(self) -> None:
        """The step begins now."""
        self._began = time.monotonic()
        self._acked_before = self._acked()
        self._thread.start()

    def end(self) -> None:
        """The step has ended: nothing begins any more, what is open runs to its end."""
        self._ended.set()

    def cancel(self) -> None:
        """Neither begin nor heal anything any more."""
        self._cancelled.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of everything that was begun; returns whether that has come."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _guarded(self) -> None:
        try:
            self._run()
        except Exception as error:  # told as a problem: nobody else would hear of it
            self._problems.append(f"the schedule of faults broke: {error!r}")

    def _run(self) -> None:
        state = begin(self._schedule)
        while not self._cancelled.is_set():
            # Looked at before the clock: a fault that is due at the last moment is not begun after the end.
            ended = self._ended.is_set()
            seconds = time.monotonic() - self._began
            with self._lock:
                phases = dict(self._phases)
            now = Now(
                seconds=seconds,
                phases=phases,
                view=self._view(),
                topic=self._topic,
                acked=self._acked() - self._acked_before,
                down_before=self._down_before,
                ended=ended,
            )
            decisions, state = decide(self._schedule, state, now)
            for decision in decisions:
                self._do(decision)
            over = ended or (self._schedule.seconds is not None and seconds >= self._schedule.seconds)
            if over and not state.busy:
                self._problems += describe_unmet(self._schedule, state)
                return
            self._cancelled.wait(TICK_SECONDS)

    def _do(self, decision: Decision) -> None:
        if isinstance(decision, Start):
            self._note(decision.occurrence, FaultState.BEGUN)
            # Here and not in the thread: names, and with them random choices, go by the order of decisions.
            name = self._book.reserve(decision.fault)
            self._in_thread(partial(self._inject, decision, name), name)
        elif isinstance(decision, HealDecision):
            with self._lock:
                self._healing.add(decision.occurrence)
            self._in_thread(partial(self._heal, decision.occurrence), "heal")
        else:
            self._problems.append(decision.why)

    def _inject(self, start: Start, name: str) -> None:
        occurrence = start.occurrence
        why = {
            "entry": self._schedule.tracks[occurrence.track].place,
            "due": to_the_millisecond(start.due),
            "at": to_the_millisecond(start.at),
            "for": start.lasting,
        }
        if self._cancelled.is_set():
            return
        with self._failing(occurrence):
            try:
                fault = self._book.inject(start.fault, name, why, yielding=True)
            except FaultDeferred:
                self._note(occurrence, FaultState.PUT_OFF)
                return
            self._faults[occurrence] = fault
            self._note(occurrence, FaultState.INJECTED)
            self._book.verify(fault)
            self._note(occurrence, FaultState.SHOWN)

    def _heal(self, occurrence: Occurrence) -> None:
        with self._failing(occurrence):
            fault = self._faults[occurrence]
            while not self._cancelled.is_set():
                self._book.heal(fault)
                if fault.closed_ns is not None:
                    self._note(occurrence, FaultState.HEALED)
                    return
                # Taken back, but the cluster is not whole while others are open. When they are not of this
                # step, or are being healed too, the end of the run will tell.
                if not self._others_stay(occurrence):
                    self._note(occurrence, FaultState.FAILED)
                    return
                self._cancelled.wait(_AGAIN_SECONDS)

    @staticmethod
    def _in_thread(work: Callable[[], None], name: str) -> None:
        threading.Thread(target=work, name=f"fault-{name}", daemon=True).start()

    @contextmanager
    def _failing(self, occurrence: Occurrence) -> Iterator[None]:
        """What goes wrong with a fault is a problem of the run, and that fault counts as open."""
        try:
            yield
        except Exception as error:  # told as a problem, whatever it is
            where = self._schedule.tracks[occurrence.track].place
            known = isinstance(error, KafkaChaosError)
            self._problems.append(str(error) if known else f"{where} broke: {error!r}")
            self._note(occurrence, FaultState.FAILED)

    def _others_stay(self, mine: Occurrence) -> bool:
        """Whether another fault of this step is open, and not being healed yet."""
        with self._lock:
            return any(
                phase in _OPEN and other != mine and other not in self._healing
                for other, phase in self._phases.items()
            )

    def _note(self, occurrence: Occurrence, phase: FaultState) -> None:
        with self._lock:
            self._phases[occurrence] = phase
