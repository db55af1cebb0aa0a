"""Makes the producers of an arm, and the consumers of its readers, of confluent-kafka."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from confluent_kafka import Producer

from harness.cluster.live import LiveCluster
from harness.model.host.fetched import confluent_kafka
from harness.run.arm_setting import ArmSetting
from workloads.base import ArmClients, ArmProducers, RunningWorkload
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.producer.producers import Producers, transactional_id
from workloads.records.reader.consumer_process import ConsumerProcess

MakeProducers: TypeAlias = Callable[[ArmSetting, ArmClients, Sequence[RunningWorkload]], ArmProducers]
"""Makes what writes in an arm: from the setting, the clients with their journals, and the arm's workloads."""
Properties: TypeAlias = Callable[[ArmSetting], Mapping[str, Any]]
"""The configuration of the producers of an arm, by the client's own names."""
MakeConsumer: TypeAlias = Callable[[ReaderSpec, LiveCluster], Callable[..., Any]]
"""What makes a reader's consumer from its settings."""


def producers(
    setting: ArmSetting,
    clients: ArmClients,
    running: Sequence[RunningWorkload],
    *,
    connect: Callable[[], Callable[..., Any]] = lambda: Producer,
) -> Producers:
    """The producers of an arm, each with a client that `connect()` makes, unless the arm has a source.

    Raises:
        BadInput: the client refuses the settings.
    """
    source, spec = setting.source, setting.workload_spec
    # The transactions of an arm may be those of its processors alone.
    transactional = spec.process is None or spec.transactions is not None
    return Producers(
        spec,
        setting.arm.producer,
        bootstrap=setting.cluster.bootstrap,
        security=setting.cluster.access.properties,
        topic=setting.topic,
        partitions=1 if source is not None else setting.partitions,
        run_id=setting.run_id,
        seed=setting.seed,
        journal=clients.sends,
        transactions=clients.transactions if transactional else None,
        client=connect() if source is None else lambda *_, **__: source,
        polled={number: polls for workload in running for number, polls in workload.polls().items()},
    )


def producer_properties(setting: ArmSetting) -> Mapping[str, Any]:
    """The configuration of librdkafka's producers."""
    named = transactional_id(0) if setting.workload_spec.transactions is not None else None
    return setting.arm.producer.to_librdkafka(setting.cluster.bootstrap, named)


def reader_clients(
    readers: Sequence[ReaderSpec], cluster: LiveCluster, others: Mapping[str, MakeConsumer]
) -> dict[str, Callable[..., Any]]:
    """What makes a consumer from its settings, by the name of each reader that has not this process's client;
    `others` are those of other libraries, by `client`.

    Raises:
        BadInput: the version of a client is not known.
        PrerequisiteMissing: a client of that version is not available.
    """
    clients: dict[str, Callable[..., Any]] = {}
    for reader in readers:
        if reader.client in others:
            clients[reader.name] = others[reader.client](reader, cluster)
        elif reader.version is not None:
            clients[reader.name] = partial(ConsumerProcess, packages=confluent_kafka(reader.version))
    return clients
