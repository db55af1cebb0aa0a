"""What an arm may have beside librdkafka's producers and consumers, by the way in which it asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.run import client_factory
from harness.run.arm_setting import ArmSetting
from harness.run.client_factory import MakeConsumer, MakeProducers, Properties
from harness.spec.experiment import Arm, Experiment
from workloads.applications.arm_application import ArmApplication
from workloads.applications.launch import prepare
from workloads.base import RunningWorkload
from workloads.groups.group_offsets import GroupOffsets
from workloads.java import java_clients
from workloads.own.own_programs import OwnPrograms, own_producers
from workloads.own.program_command import check_program
from workloads.share.share_groups import ShareGroups
from workloads.transactions.polling_transactions import PollingTransactions
from workloads.transactions.processors import Processors

PRODUCERS: Mapping[str, MakeProducers] = {
    "librdkafka": client_factory.producers,
    "java": java_clients.java_producers,
    "driven": java_clients.driven_producers,
    "own": own_producers,
}
"""What makes the producers of an arm, by its `client`."""
PROPERTIES: Mapping[str, Properties] = {
    "java": java_clients.java_producer_properties,
    "driven": java_clients.driven_producer_properties,
}
"""The configuration of producers that are not librdkafka, by the arm's `client`."""
CONSUMERS: Mapping[str, MakeConsumer] = {"java": java_clients.java_consumer}
"""What makes the consumer of a reader that is not librdkafka, by its `client`."""
WORKLOADS: tuple[Callable[[ArmSetting], RunningWorkload | None], ...] = (
    OwnPrograms.of,
    Processors.of,
    PollingTransactions.of,
    GroupOffsets.of,
    ShareGroups.of,
    ArmApplication.of,
)
"""The workloads, in the order in which they connect, start and end. Each is None for an arm that does not ask
for it."""


def properties_of(setting: ArmSetting) -> Mapping[str, Any]:
    """The configuration of the producers of an arm, by their client's own names; none where they write to no
    topic."""
    application = setting.experiment.application_of(setting.arm)
    if application is not None and application.input is not None:
        return {}
    return PROPERTIES.get(setting.workload_spec.client, client_factory.producer_properties)(setting)


def workloads_of(setting: ArmSetting) -> tuple[RunningWorkload, ...]:
    """The workloads that an arm asks for."""
    return tuple(workload for workload in (of(setting) for of in WORKLOADS) if workload is not None)


def check_settings_of(experiment: Experiment, arm: Arm) -> None:
    """Refuse what cannot work before anything is started.

    Raises:
        BadInput: no such built-in application, or wrong options; or no such program of the user's.
        PrerequisiteMissing: what an application needs is not available.
    """
    own = experiment.workload_of(arm).own
    if own is not None:
        check_program(own, f"experiment {experiment.name}, arm {arm.name}")
    if (application := experiment.application_of(arm)) is not None:
        prepare(application)
