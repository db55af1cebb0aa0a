"""The committed offsets of an arm's groups: commits without members, and what brokers answer about all."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from harness.model.group_journal import OFFSETS, OFFSETS_DIR
from harness.model.run import ReaderInfo
from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, RunningWorkload
from workloads.groups.group_steps import AskOffsets
from workloads.groups.memberless_commits import MemberlessCommits
from workloads.groups.offset_rows import journal_logged_commits
from workloads.groups.pollers import BrokerPoller, CoordinatorPoller
from workloads.records.journal.row_journal import RowJournal
from workloads.transactions.processor import reader_spec_of


class GroupOffsets(RunningWorkload):
    """Asks for the committed offsets of the groups of an arm, and commits for groups without members."""

    def __init__(self, setting: ArmSetting) -> None:
        self._setting = setting
        self._polled = [(setting.topic, number) for number in range(setting.partitions)]
        self._coordinators: CoordinatorPoller | None = None
        self._brokers: BrokerPoller | None = None

    @classmethod
    def of(cls, setting: ArmSetting) -> GroupOffsets | None:
        """None: no group of the arm commits offsets."""
        return cls(setting) if committing(setting) or setting.experiment.commits_offsets else None

    def open(self, stack: ExitStack) -> None:
        cluster, folder = self._setting.cluster, self._setting.folder
        sink = stack.enter_context(RowJournal(folder / OFFSETS_DIR, OFFSETS))
        groups = committing(self._setting)
        self._coordinators = CoordinatorPoller(
            cluster.connection, cluster.broker_ids, groups, self._polled, sink
        )
        stack.callback(self._coordinators.stop)
        self._coordinators.start()
        self._brokers = BrokerPoller(cluster.connection, cluster.broker_ids, self._setting.topic, sink)
        stack.callback(self._brokers.end)

    def connect(self, clients: ArmClients, stack: ExitStack) -> None:
        self.commits = MemberlessCommits(self._setting.cluster, self._setting.topic, clients.sinks.commits)
        stack.callback(self.commits.end)

    def commit_answered(self, row: Mapping[str, Any]) -> None:
        if self._coordinators is not None:
            self._coordinators.answered(row)

    def grow(self, partitions: int) -> None:
        self._polled += [(self._setting.topic, number) for number in range(len(self._polled), partitions)]

    def ask(self, step: AskOffsets) -> None:
        """Begin to ask every broker for the committed offsets of the groups that the step names."""
        assert self._brokers is not None, "open comes first"
        groups = {
            group: commit.partition
            for commit in (planned.commit_offsets for planned in self._setting.experiment.steps)
            if commit is not None and commit.name in step.of
            for group in commit.group_names
        }
        self._brokers.ask(groups, step.seconds, stable=step.stable)

    def end(self) -> list[str]:
        self.commits.end()
        return []

    def finish(self) -> list[str]:
        """Journal what the groups' coordinators and the replicas' files hold now."""
        coordinators, brokers = self._coordinators, self._brokers
        if coordinators is None or brokers is None:
            return []
        brokers.end()
        coordinators.stop()
        coordinators.add(self.commits.answered)
        coordinators.last()
        groups = set(coordinators.groups.values())
        journal_logged_commits(self._setting.cluster, groups, self._setting.topics, coordinators.sink)
        failures = ([] if coordinators.failure is None else [coordinators.failure]) + brokers.failures
        return [f"asking for committed offsets ended early: {failure!r}" for failure in failures]

    def readers(self) -> tuple[ReaderInfo, ...]:
        return self.commits.infos()


def committing(setting: ArmSetting) -> dict[str, str]:
    """The groups of an arm that commit offsets, by reader."""
    readers = setting.experiment.readers_of(setting.arm)
    readers = tuple(reader for reader in readers if reader.group is not None and reader.commits != "none")
    if (process := setting.workload_spec.process) is not None:
        readers = (*readers, reader_spec_of(process))
    return {name: str(reader.group) for reader in readers for name in reader.member_names}
