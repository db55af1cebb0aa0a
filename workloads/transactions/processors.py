"""Exactly-once processors in an arm: members of a group that write a record for each that they read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, RunningWorkload
from workloads.records.config.workload_spec import ProcessSpec
from workloads.transactions.processor import GROUP, ProcessorOutput, processors, reader_spec_of


class Processors(RunningWorkload):
    """The processors of an arm's topic."""

    def __init__(self, setting: ArmSetting, process: ProcessSpec) -> None:
        self._setting = setting
        self._process = process

    @classmethod
    def of(cls, setting: ArmSetting) -> Processors | None:
        """None: the arm has no processors."""
        process = setting.workload_spec.process
        return None if process is None else cls(setting, process)

    def groups(self) -> Mapping[str, str]:
        return {GROUP: GROUP}

    def connect(self, clients: ArmClients, stack: ExitStack) -> None:  # noqa: ARG002
        """Add them to the arm's readers, which start and close them.

        Raises:
            BadInput: the client refuses the settings.
        """
        arm = self._setting
        assert clients.transactions is not None, "processors write in transactions"
        output = ProcessorOutput(
            *(arm.processed_topic, arm.workload_spec, arm.arm.producer, arm.seed),
            sends=clients.sends,
            transactions=clients.transactions,
        )
        members = processors(self._process, output, clients.source)
        clients.readers.add(reader_spec_of(self._process), members)
