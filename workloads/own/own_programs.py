"""The user's own producers in an arm: the folder in which their programs find where to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from harness.model.id_journal import LOG_IDS_DIR, SENT_IDS, SENT_IDS_DIR
from harness.model.journal import RowSink
from harness.model.run import RecordIds
from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, RunningWorkload
from workloads.own.client_settings import Judged, corrected
from workloads.own.log_ids import log_ids
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder, ProducerTarget
from workloads.records.journal.row_journal import RowJournal
from workloads.records.reader.final_reader import AlsoWritten


class OwnPrograms(RunningWorkload):
    """The folder that the user's programs wait for."""

    def __init__(self, setting: ArmSetting) -> None:
        self._setting = setting
        own = setting.workload_spec.own
        self._id = None if own is None else own.id
        self.ids: RowSink | None = None
        """Takes rows of SENT_IDS, if records have an id of their own."""
        self.producers: OwnProducers | None = None
        """Once they are waited for."""

    @classmethod
    def of(cls, setting: ArmSetting) -> OwnPrograms | None:
        """None: the arm has no producers of the user's."""
        return cls(setting) if setting.workload_spec.client == "own" else None

    def created(self) -> None:
        arm = self._setting
        acks = arm.arm.producer.acks
        target = ProducerTarget(arm.run_id, arm.topic, acks, arm.cluster.bootstrap, self._id)
        ProducerFolder(arm.folder / PRODUCERS_DIR).create(target)

    def connect(self, clients: ArmClients, stack: ExitStack) -> None:  # noqa: ARG002
        if self._id is not None:
            self.ids = stack.enter_context(RowJournal(self._setting.folder / SENT_IDS_DIR, SENT_IDS))

    def also_read(self, topic: str) -> AlsoWritten | None:
        if self._id is None:
            return None
        return AlsoWritten(self._setting.folder / LOG_IDS_DIR, log_ids(self._id, topic))

    def meta(self) -> Mapping[str, Any]:
        ids = None if self._id is None else RecordIds(place=self._id.words(), times=self._id.times)
        return {"ids": ids, **self._corrected()}

    def _corrected(self) -> Mapping[str, Any]:
        if self.producers is None:
            return {}
        settings, workload = self._setting.arm.producer, self._setting.workload_spec
        idempotent = settings.enable_idempotence or workload.transactional
        of_arm = Judged(settings.acks, idempotent, settings.max_in_flight)
        return corrected(of_arm, self.producers.settings, producers=self.producers.opened)


def own_producers(
    setting: ArmSetting,
    clients: ArmClients,
    running: Sequence[RunningWorkload],
) -> OwnProducers:
    """The user's producers, by what their programs write into the folder."""
    folder = ProducerFolder(setting.folder / PRODUCERS_DIR)
    (programs,) = (workload for workload in running if isinstance(workload, OwnPrograms))
    expected = setting.workload_spec.producers
    producers = OwnProducers(folder, expected, clients.sends, clients.transactions, programs.ids)
    programs.producers = producers
    return producers
