"""The user's own producers in an arm: the folder in which their programs find where to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, RunningWorkload
from workloads.own.client_settings import Judged, corrected
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder, ProducerTarget


class OwnPrograms(RunningWorkload):
    """The folder that the user's programs wait for."""

    def __init__(self, setting: ArmSetting) -> None:
        self._setting = setting
        self.producers: OwnProducers | None = None
        """Once they are waited for."""

    @classmethod
    def of(cls, setting: ArmSetting) -> OwnPrograms | None:
        """None: the arm has no producers of the user's."""
        return cls(setting) if setting.workload_spec.client == "own" else None

    def created(self) -> None:
        arm = self._setting
        target = ProducerTarget(arm.run_id, arm.topic, arm.arm.producer.acks, arm.cluster.bootstrap)
        ProducerFolder(arm.folder / PRODUCERS_DIR).create(target)

    def meta(self) -> Mapping[str, Any]:
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
    producers = OwnProducers(folder, setting.workload_spec.producers, clients.sends, clients.transactions)
    for workload in running:
        if isinstance(workload, OwnPrograms):
            workload.producers = producers
    return producers
