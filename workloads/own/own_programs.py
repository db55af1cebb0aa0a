"""The user's own producers in an arm: the folder in which their programs find where to write."""

from __future__ import annotations

from collections.abc import Sequence

from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, RunningWorkload
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import PRODUCERS_DIR, ProducerFolder, ProducerTarget


class OwnPrograms(RunningWorkload):
    """The folder that the user's programs wait for."""

    def __init__(self, setting: ArmSetting) -> None:
        self._setting = setting

    @classmethod
    def of(cls, setting: ArmSetting) -> OwnPrograms | None:
        """None: the arm has no producers of the user's."""
        return cls(setting) if setting.workload_spec.client == "own" else None

    def created(self) -> None:
        arm = self._setting
        target = ProducerTarget(arm.run_id, arm.topic, arm.arm.producer.acks, arm.cluster.bootstrap)
        ProducerFolder(arm.folder / PRODUCERS_DIR).create(target)


def own_producers(
    setting: ArmSetting,
    clients: ArmClients,
    _running: Sequence[RunningWorkload],
) -> OwnProducers:
    """The user's producers, by what their programs write into the folder."""
    folder = ProducerFolder(setting.folder / PRODUCERS_DIR)
    return OwnProducers(folder, setting.workload_spec.producers, clients.sends, clients.transactions)
