"""A share group of a run: its members, which are killed, stopped and replaced as the experiment says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from harness.model.run import ShareInfo
from workloads.share.member_loop import MemberSettings
from workloads.share.member_process import LIBRDKAFKA_MEMBER, MemberJournal, MemberProcess, ShareSinks
from workloads.share.share_spec import ShareSpec

_POLL_SECONDS = 0.05
_CLOSE_SECONDS = 60.0
BEGIN_SECONDS = 30.0


@dataclass(eq=False, repr=False)
class ShareGroupMembers:
    """The members of one share group, which may be replaced until `close` ends them.

    `settings` makes the settings of a client from the name and number of its session.
    """

    spec: ShareSpec
    _: KW_ONLY
    group_id: str
    topic: str
    sinks: ShareSinks
    settings: Callable[[str, int], MemberSettings]
    command: Sequence[str] = LIBRDKAFKA_MEMBER
    brokers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lock_seconds = self.spec.lock_seconds(self.brokers)
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self._current: dict[str, MemberProcess] = {}
        self._all: list[MemberProcess] = []
        self._sessions = dict.fromkeys(self.spec.member_names, -1)
        self._problems: list[str] = []
        self._closed = False
        self.last_kill: float | None = None
        """When a member was last killed (time.monotonic()); None: never."""
        self._clock = threading.Thread(target=self._events, name=f"share-{self.spec.name}", daemon=True)

    def await_members(self, deadline: float) -> None:
        """Wait until every member has subscribed, at most until a time.monotonic() value."""
        while time.monotonic() < deadline and any(
            member.alive and not member.journal.joined for member in self._current.values()
        ):
            time.sleep(_POLL_SECONDS)

    def begin(self) -> None:
        """From now on the times of kills, pauses and restarts are counted."""
        self._clock.start()

    def start_members(self) -> None:
        with self._lock:
            for name in self.spec.member_names:
                self._start(name)

    def stop_members(self) -> None:
        """Close every member; `start_members` starts new ones."""
        with self._lock:
            current, self._current = self._current, {}
            self._end(current)

    def alter(self, detail: str) -> None:
        """Journal that an administrator changed the group."""
        self.sinks.events.append(
            {"at_ns": time.time_ns(), "group": self.group_id, "event": "altered", "detail": detail}
        )

    @property
    def last_delivery_ns(self) -> int:
        """When a member was last given a record; 0: never."""
        return max((member.journal.last_ns for member in self._all), default=0)

    @property
    def deliveries(self) -> int:
        return sum(member.journal.deliveries for member in self._all)

    def finish_events(self, deadline: float) -> None:
        """Wait until the kills, pauses and restarts that are under way are over; later ones do not come."""
        self._stop.set()
        if self._clock.ident is not None:
            self._clock.join(max(0.0, deadline - time.monotonic()))

    def close(self, *, give_up: bool = False) -> None:
        """End every member; safe to call again. `give_up`: kill them."""
        if self._closed:
            return
        self._closed = True
        self._stop.set()
        with self._lock:
            if give_up:
                for member in self._current.values():
                    member.kill()
            self._end(self._current)

    def info(self) -> ShareInfo:
        """A description of the group, for the run's metadata."""
        return ShareInfo(
            name=self.spec.name,
            group=self.group_id,
            members=self.spec.member_names,
            acknowledge=self.spec.acknowledge,
            hold_seconds=self.spec.hold,
            lock_seconds=self.lock_seconds,
            delivery_limit=self.spec.limit(self.brokers),
            client=self.spec.client,
            deliveries=self.deliveries,
            closed=self._closed,
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """Members that ended by themselves, or did not end."""
        died = [
            f"a member of share group {self.spec.name} ended early: {member.failure}"
            for member in self._all
            if member.failure is not None
        ]
        return (*self._problems, *died)

    def _start(self, name: str) -> None:
        self._sessions[name] += 1
        session = self._sessions[name]
        journal = MemberJournal(
            self.sinks, group=self.group_id, member=name, session=session, topic=self.topic
        )
        process = MemberProcess(self.settings(name, session), journal, self.command)
        self._current[name] = process
        self._all.append(process)

    def _end(self, members: dict[str, MemberProcess]) -> None:
        for member in members.values():
            member.close()
        deadline = time.monotonic() + _CLOSE_SECONDS + self.spec.hold
        for name, member in members.items():
            if not member.join(max(0.0, deadline - time.monotonic())):
                self._problems.append(f"member {name} of a share group did not close and was killed")

    def _events(self) -> None:
        began = time.monotonic()
        due = sorted(
            [(at, "kill", number, 0.0) for number, at in enumerate(self.spec.kills)]
            + [(pause.at, "pause", number, pause.seconds) for number, pause in enumerate(self.spec.pauses)]
            + [(at, "restart", number, 0.0) for number, at in enumerate(self.spec.restarts)]
        )
        for at, what, number, seconds in due:
            if self._stop.wait(max(0.0, began + at - time.monotonic())):
                return
            self._happen(what, self.spec.member_names[number % self.spec.members], seconds)

    def _happen(self, what: str, name: str, seconds: float) -> None:
        with self._lock:
            member = self._current.get(name)
            if member is None:
                return
            if what == "pause":
                member.pause()
                try:
                    self._stop.wait(seconds)
                finally:
                    member.resume()
                return
            if what == "kill":
                self.last_kill = time.monotonic()
                member.kill()
                member.join(_CLOSE_SECONDS)
            else:
                self._end({name: member})
            self._start(name)
