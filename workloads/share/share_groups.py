"""The share groups of one arm: their settings, their members, and where they begin at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from harness.cluster.protocol.admin import ANSWER_SECONDS
from harness.model.broker_views import PartitionState
from harness.model.errors import ClusterError, JournalError
from harness.model.journal import RowSink
from harness.model.polling import poll_within
from harness.model.run import ShareInfo
from harness.model.share_journal import (
    DELIVERIES,
    DELIVERIES_DIR,
    SHARE_EVENTS,
    SHARE_EVENTS_DIR,
    SHARE_OFFSETS,
    SHARE_OFFSETS_DIR,
)
from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, RunningWorkload
from workloads.records.journal.row_journal import RowJournal
from workloads.share.member_loop import MemberSettings
from workloads.share.member_process import ShareSinks
from workloads.share.share_admin import ShareStart, move_share_starts, share_starts
from workloads.share.share_client import share_client
from workloads.share.share_group import BEGIN_SECONDS, ShareGroupMembers
from workloads.share.share_markers import MarkersLeft
from workloads.share.share_spec import ShareSpec
from workloads.share.share_step import AlterShareGroup

_POLL_SECONDS = 0.5
_QUIET_SECONDS = 10.0
_INITIALISE_SECONDS = 40.0
"""For a group that was given nothing yet: a coordinator that takes over while its state is being initialised
asks for it again after group.share.initialize.retry.interval.ms, by default 30 s."""
_SURE_SECONDS = 1.0
_MOST_SECONDS = 300.0
_SESSION_SECONDS = 45.0
"""group.share.session.timeout.ms: the partitions of a killed member are without one until then."""


class ShareGroups(RunningWorkload):
    """All share groups of an arm."""

    def __init__(self, setting: ArmSetting, specs: Sequence[ShareSpec]) -> None:
        self._setting = setting
        self._specs = specs
        self._cluster = cluster = setting.cluster
        self._members: tuple[ShareGroupMembers, ...] = ()
        self._journals = ExitStack()
        session = cluster.spec.properties.get("group.share.session.timeout.ms", "")
        self._session_seconds = int(session) / 1000 if session.isdigit() else _SESSION_SECONDS
        self._last: dict[tuple[str, int], ShareStart] = {}
        self._markers = MarkersLeft(cluster, setting.topic, setting.folder / DELIVERIES_DIR)

    @classmethod
    def of(cls, setting: ArmSetting) -> ShareGroups | None:
        """None: the arm has no share groups."""
        specs = setting.experiment.share_of(setting.arm)
        return cls(setting, specs) if specs else None

    def groups(self) -> dict[str, str]:
        return {spec.group or spec.name: spec.group_id(self._setting.run_id) for spec in self._specs}

    def connect(self, clients: ArmClients, stack: ExitStack) -> None:  # noqa: ARG002
        """Make the groups; their members start later.

        Raises:
            BadInput: the version of their client is not known.
            PrerequisiteMissing: their client is not available.
        """
        folder, journals = self._setting.folder, self._journals
        stack.callback(self._close)
        self._deliveries = journals.enter_context(RowJournal(folder / DELIVERIES_DIR, DELIVERIES))
        events = journals.enter_context(RowJournal(folder / SHARE_EVENTS_DIR, SHARE_EVENTS))
        self._offsets: RowSink = journals.enter_context(RowJournal(folder / SHARE_OFFSETS_DIR, SHARE_OFFSETS))
        sinks = ShareSinks(self._deliveries, events)
        self._members = tuple(self._group(spec, sinks) for spec in self._specs)

    def start(self) -> None:
        """Set the groups' settings and start their members; when all have begun, begin to kill some.

        Raises:
            BadInput: the brokers refuse the settings of a group.
            ClusterError: they could not be set.
        """
        admin = self._cluster.admin()
        for group in self._members:
            admin.set_group_config(group.group_id, group.spec.group_config())
            group.start_members()
        deadline = time.monotonic() + BEGIN_SECONDS
        for group in self._members:
            group.await_members(deadline)
        for group in self._members:
            group.begin()

    def alter(self, change: AlterShareGroup) -> list[str]:
        """Change a group as an administrator does; returns problems.

        Raises:
            BadInput: the brokers refuse a setting.
            ClusterError: a setting could not be changed.
        """
        group = next(
            member for member in self._members if change.group in (member.spec.name, member.spec.group)
        )
        config = ShareSpec(name="q", lock=change.lock, delivery_limit=change.delivery_limit).group_config()
        config = {name: value for name, value in config.items() if name != "share.auto.offset.reset"}
        if config:
            self._cluster.admin().set_group_config(group.group_id, config)
            group.alter(", ".join(f"{name}={value}" for name, value in config.items()))
        if change.start is None:
            return []
        group.stop_members()
        try:
            return self._move(group, change.start)
        finally:
            group.start_members()

    def _move(self, group: ShareGroupMembers, start: str | int) -> list[str]:
        """Move the start offsets of a group whose members have left; returns problems."""
        state = self._leaders()
        ends = {number: partition.high_watermark or 0 for number, partition in state.items()}
        starts = {number: partition.log_start_offset or 0 for number, partition in state.items()}
        chosen = {"earliest": starts, "latest": ends}
        offsets = dict.fromkeys(ends, start) if isinstance(start, int) else chosen[start]
        refused: list[str] = []

        def missing() -> str | None:
            try:
                broker = self._cluster.coordinator(group.group_id, transactional=False)
                if broker is None:
                    return "the group has no coordinator"
                with self._cluster.connection(broker, ANSWER_SECONDS) as connection:
                    answers = move_share_starts(connection, group.group_id, self._setting.topic, offsets)
            except (ClusterError, OSError) as error:
                return str(error)
            refused[:] = sorted({error for error in answers.values() if error is not None})
            return ", ".join(refused) or None

        why = poll_within(_SESSION_SECONDS + _QUIET_SECONDS, missing)
        group.alter(f"start offsets moved to {offsets}" if why is None else f"start offsets not moved: {why}")
        return (
            [] if why is None else [f"the start of share group {group.spec.name} could not be moved: {why}"]
        )

    def end(self) -> list[str]:
        """Wait until every group has finished all records, or its members are given none any more; returns
        problems. Then the start offsets are journaled, and the members end."""
        for group in self._members:
            group.finish_events(time.monotonic() + _MOST_SECONDS)
        problems: list[str] = []
        waiting = list(self._members)
        begun, begun_ns = time.monotonic(), time.time_ns()
        since: dict[str, float] = {}
        while waiting:
            for group in list(waiting):
                starts = self._ask(group)
                if not self._finished(starts) and not self._only_markers_left(group, starts):
                    since.pop(group.group_id, None)
                # A coordinator may not know yet how long the log is.
                elif time.monotonic() - since.setdefault(group.group_id, time.monotonic()) >= _SURE_SECONDS:
                    waiting.remove(group)
                    continue
                if self._quiet(group, begun, begun_ns):
                    waiting.remove(group)
            if time.monotonic() - begun > _MOST_SECONDS:
                names = ", ".join(group.spec.name for group in waiting)
                problems.append(f"share group {names} was still given records after {_MOST_SECONDS:g} s")
                break
            if waiting:
                time.sleep(_POLL_SECONDS)
        for group in self._members:
            self._ask(group, last=True)
        self._close()
        return problems

    def abort(self) -> None:
        self._close(give_up=True)

    def _close(self, *, give_up: bool = False) -> None:
        """End every member and write the journals; with `give_up` without waiting for what a member has in
        flight. Safe to call again."""
        for group in self._members:
            group.close(give_up=give_up)
        self._journals.close()

    def meta(self) -> dict[str, tuple[ShareInfo, ...]]:
        return {"share": tuple(group.info() for group in self._members)}

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(problem for group in self._members for problem in group.problems)

    def _group(self, spec: ShareSpec, sinks: ShareSinks) -> ShareGroupMembers:
        setting, cluster = self._setting, self._cluster
        group_id = spec.group_id(setting.run_id)
        security = cluster.access.properties if spec.client == "librdkafka" else None
        properties = spec.properties(cluster.bootstrap, group_id, security)
        command, more = share_client(spec, cluster)

        def settings(name: str, session: int) -> MemberSettings:
            return MemberSettings(
                properties=properties,
                topic=setting.topic,
                run_id=setting.run_id,
                seed=f"{setting.seed}/{name}/{session}",
                acknowledge=spec.acknowledge,
                hold=spec.hold,
                explicit=spec.mode == "explicit",
                wait=spec.commit == "sync",
                more=more,
            )

        return ShareGroupMembers(
            spec,
            group_id=group_id,
            topic=setting.topic,
            sinks=sinks,
            settings=settings,
            command=command,
            brokers=cluster.spec.properties,
        )

    def _ask(self, group: ShareGroupMembers, *, last: bool = False) -> tuple[ShareStart, ...]:
        """Ask the group's coordinator and journal what is new, or everything with `last`."""
        asked_ns = time.time_ns()
        topic, partitions = self._setting.topic, range(self._setting.partitions)
        starts: tuple[ShareStart, ...] = ()
        with suppress(ClusterError, OSError):
            broker = self._cluster.coordinator(group.group_id, transactional=False)
            if broker is not None:
                with self._cluster.connection(broker, ANSWER_SECONDS) as connection:
                    starts = share_starts(connection, group.group_id, topic, partitions)
        for start in starts:
            key = group.group_id, start.partition
            if last or self._last.get(key) != start:
                self._last[key] = start
                self._offsets.append(
                    {
                        "group": group.group_id,
                        "topic": topic,
                        "partition": start.partition,
                        "asked_ns": asked_ns,
                        "at_ns": time.time_ns(),
                        "start_offset": start.start,
                        "lag": start.lag,
                        "error": start.error,
                    }
                )
        return starts

    def _finished(self, starts: Sequence[ShareStart]) -> bool:
        """Whether nothing is left. Without a lag, whether the group begins at the end of each partition."""
        if not starts or any(start.error is not None or start.start is None for start in starts):
            return False
        if all(start.lag is not None for start in starts):
            return all(start.lag == 0 for start in starts)
        with suppress(ClusterError, OSError):
            ends = {number: state.high_watermark for number, state in self._leaders().items()}
            return all(ends.get(start.partition) == start.start for start in starts)
        return False

    def _only_markers_left(self, group: ShareGroupMembers, starts: Sequence[ShareStart]) -> bool:
        """Whether the group has finished every record, and its lag is markers of transactions."""
        quiet = time.time_ns() - group.last_delivery_ns > _SURE_SECONDS * 1e9
        if self._setting.transaction_seconds is None or not quiet:
            return False
        self._deliveries.flush()
        with suppress(ClusterError, JournalError, OSError):
            return self._markers.only(group.group_id, starts, self._leaders())
        return False

    def _leaders(self) -> dict[int, PartitionState]:
        """Each partition as its leader reports it."""
        view = self._cluster.view((self._setting.topic,))
        return {
            state.partition: state
            for broker in view.answered()
            for state in broker.partitions
            if state.leader == broker.broker
        }

    def _quiet(self, group: ShareGroupMembers, begun: float, begun_ns: int) -> bool:
        """Whether nothing was given for two locks, and for as long as what else may hold records back."""
        spec = group.spec
        needed = max(2 * group.lock_seconds, _QUIET_SECONDS) + spec.hold
        if not group.last_delivery_ns:
            needed = max(needed, _INITIALISE_SECONDS)
        # The check takes nothing for stuck that soon after the last fault was healed.
        since = begun + _QUIET_SECONDS
        if group.last_kill is not None:
            since = max(since, group.last_kill + self._session_seconds + _QUIET_SECONDS)
        since = max(since, begun + (group.last_delivery_ns - begun_ns) / 1e9)
        return time.monotonic() - since > needed
