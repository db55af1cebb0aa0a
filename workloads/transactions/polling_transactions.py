"""Transactions that poll, in an arm: each producer has a reader, whose records its transactions take."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, RunningWorkload
from workloads.records.config.workload_spec import TransactionSpec
from workloads.records.reader.live_reader import LiveReader
from workloads.transactions.polls import Polls


class PollingTransactions(RunningWorkload):
    """The readers of an arm's producers."""

    def __init__(self, setting: ArmSetting, transactions: TransactionSpec) -> None:
        self._readers = setting.workload_spec.poll_readers
        self._most = transactions.poll_records
        self._polls: dict[int, Polls] = {}

    @classmethod
    def of(cls, setting: ArmSetting) -> PollingTransactions | None:
        """None: the transactions of the arm poll nothing."""
        spec = setting.workload_spec
        return cls(setting, spec.transactions) if spec.transactions and spec.poll_readers else None

    def connect(self, clients: ArmClients, stack: ExitStack) -> None:  # noqa: ARG002
        """Add them to the arm's readers, which start and close them."""
        for number, of_producer in enumerate(self._readers):
            reader = LiveReader(of_producer, of_producer.name, clients.source)
            reader.producer = number
            clients.readers.add(of_producer, [reader])
            self._polls[number] = Polls(reader, self._most)

    def polls(self) -> Mapping[int, Polls]:
        return self._polls
