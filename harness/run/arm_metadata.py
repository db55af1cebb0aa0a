"""The metadata of a run at its beginning."""

from __future__ import annotations

import importlib.metadata
import platform
import time

from harness.model.run import ApplicationMeta, RunMeta
from harness.model.secrets import masked
from harness.run.arm_setting import ArmSetting
from harness.run.clients.client_factory import properties_of


def metadata_at_start(
    setting: ArmSetting,
    topic_config: dict[str, str],
    skipped: tuple[str, ...],
    application: ApplicationMeta | None,
) -> RunMeta:
    """What is known of a run before its first step.

    Args:
        topic_config: the topic's settings, those of the arm included.
        skipped: what cannot be done on this cluster.
    """
    experiment, arm, cluster = setting.experiment, setting.arm, setting.cluster
    settings, workload = arm.producer, setting.workload_spec
    return RunMeta(
        run_id=setting.run_id,
        experiment=experiment.name,
        arm=arm.name,
        seed=setting.seed,
        topic=setting.topic,
        partitions=experiment.topic.partitions,
        replication_factor=experiment.topic.replication_factor,
        topic_config=topic_config,
        producer_config={key: masked(key, str(value)) for key, value in properties_of(setting).items()},
        acks=settings.acks,
        application=application,
        idempotent=settings.enable_idempotence
        or workload.transactions is not None
        or workload.drive.transactional
        or (workload.client == "own" and workload.transactional),
        transactional=workload.transactional,
        max_in_flight=settings.max_in_flight,
        client=workload.client,
        promise=arm.promise,
        cluster=cluster.info(),
        versions=versions(),
        skipped=(*skipped, *cluster.remarks()),
        started_ns=time.time_ns(),
    )


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that take part, by name."""
    names = ("kafka-chaos", "confluent-kafka", "pyspark", "testcontainers")
    found = {name: importlib.metadata.version(name) for name in names}
    return {"python": platform.python_version(), **found}
