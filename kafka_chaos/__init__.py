"""kafka-chaos: break real Apache Kafka clusters on purpose, and account for every record.

This package is the public interface for Python. docs/reference/python.md describes every name of `__all__`;
all other modules of the distribution are private and may move. A name is imported when it is first used, so
that `import kafka_chaos` loads neither Spark, nor Docker's client, nor Kafka's.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checkers import RunViews
    from harness.check_jobs.recheck import check_results
    from harness.check_jobs.saved_run_queries import views
    from harness.cluster.managed import ManagedCluster
    from harness.model.application_meta import ApplicationMeta
    from harness.model.errors import (
        BadInput,
        CheckError,
        ClusterError,
        FaultError,
        JournalError,
        KafkaChaosError,
        PrerequisiteMissing,
    )
    from harness.model.finding_class import FindingClass
    from harness.model.result import (
        ArmResult,
        CountRow,
        Example,
        ExperimentResult,
        Judgement,
        Summary,
        VerdictWord,
    )
    from harness.model.run import FaultWindow, RunMeta
    from harness.pytest_plugin.background_run import Running
    from harness.pytest_plugin.chaos_result import ChaosResult
    from harness.pytest_plugin.fixture import Chaos
    from harness.pytest_plugin.single_fault import OpenedFault
    from harness.run.from_python import ExperimentOutcome, load_experiment, run_experiment
    from harness.spec.cluster import ClusterSpec, Metadata, Profile
    from harness.spec.experiment import Arm, Experiment
    from harness.spec.security import SecuritySpec
    from harness.spec.step import Step
    from harness.spec.steps import Ask, Heal, Inject, Sleep, Wait, Write
    from harness.spec.topic import DeleteRecords, RecreateTopic, TopicSpec
    from kafka_chaos import faults, targets
    from workloads.applications.application_spec import (
        ApplicationOutput,
        ApplicationRun,
        ApplicationSpec,
        ContainerApplication,
        DrainedWhen,
        OutputTopic,
        ReadyWhen,
    )
    from workloads.groups.group_steps import AskOffsets, CommitOffsets, RestartReader
    from workloads.java.drive_step import Drive
    from workloads.java.init_producer_id import InitProducerId
    from workloads.own.aiokafka_consumer import JournaledAIOKafkaConsumer
    from workloads.own.aiokafka_producer import JournaledAIOKafkaProducer
    from workloads.own.confluent_async_producer import JournaledAIOProducer
    from workloads.own.confluent_consumer import JournaledConfluentConsumer
    from workloads.own.confluent_producer import JournaledProducer
    from workloads.own.consumer_journal import ConsumerJournal
    from workloads.own.delivered import delivered
    from workloads.own.journal import Journal
    from workloads.own.journaled import journaled
    from workloads.own.kafka_python_consumer import JournaledKafkaConsumer
    from workloads.own.kafka_python_producer import JournaledKafkaProducer
    from workloads.records.config.producer_settings import ProducerSettings
    from workloads.records.config.reader_spec import ReaderSpec
    from workloads.records.config.workload_spec import TransactionSpec, WorkloadSpec
    from workloads.transactions.rival import Rival

    __version__: str

__all__ = [
    "ApplicationMeta",
    "ApplicationOutput",
    "ApplicationRun",
    "ApplicationSpec",
    "Arm",
    "ArmResult",
    "Ask",
    "AskOffsets",
    "BadInput",
    "Chaos",
    "ChaosResult",
    "CheckError",
    "ClusterError",
    "ClusterSpec",
    "CommitOffsets",
    "ConsumerJournal",
    "ContainerApplication",
    "CountRow",
    "DeleteRecords",
    "DrainedWhen",
    "Drive",
    "Example",
    "Experiment",
    "ExperimentOutcome",
    "ExperimentResult",
    "FaultError",
    "FaultWindow",
    "FindingClass",
    "Heal",
    "InitProducerId",
    "Inject",
    "Journal",
    "JournalError",
    "JournaledAIOKafkaConsumer",
    "JournaledAIOKafkaProducer",
    "JournaledAIOProducer",
    "JournaledConfluentConsumer",
    "JournaledKafkaConsumer",
    "JournaledKafkaProducer",
    "JournaledProducer",
    "Judgement",
    "KafkaChaosError",
    "ManagedCluster",
    "Metadata",
    "OpenedFault",
    "OutputTopic",
    "PrerequisiteMissing",
    "ProducerSettings",
    "Profile",
    "ReaderSpec",
    "ReadyWhen",
    "RecreateTopic",
    "RestartReader",
    "Rival",
    "RunMeta",
    "RunViews",
    "Running",
    "SecuritySpec",
    "Sleep",
    "Step",
    "Summary",
    "TopicSpec",
    "TransactionSpec",
    "VerdictWord",
    "Wait",
    "WorkloadSpec",
    "Write",
    "__version__",
    "check_results",
    "delivered",
    "faults",
    "journaled",
    "load_experiment",
    "run_experiment",
    "targets",
    "views",
]

_HOME = {
    "checkers": "RunViews",
    "harness.check_jobs.recheck": "check_results",
    "harness.check_jobs.saved_run_queries": "views",
    "harness.cluster.managed": "ManagedCluster",
    "harness.model.application_meta": "ApplicationMeta",
    "harness.model.errors": "BadInput CheckError ClusterError FaultError JournalError KafkaChaosError "
    "PrerequisiteMissing",
    "harness.model.finding_class": "FindingClass",
    "harness.model.result": "ArmResult CountRow Example ExperimentResult Judgement Summary VerdictWord",
    "harness.model.run": "FaultWindow RunMeta",
    "harness.pytest_plugin.background_run": "Running",
    "harness.pytest_plugin.fixture": "Chaos",
    "harness.pytest_plugin.chaos_result": "ChaosResult",
    "harness.pytest_plugin.single_fault": "OpenedFault",
    "harness.run.from_python": "ExperimentOutcome load_experiment run_experiment",
    "workloads.applications.application_spec": "ApplicationOutput ApplicationRun ApplicationSpec "
    "ContainerApplication DrainedWhen OutputTopic ReadyWhen",
    "harness.spec.cluster": "ClusterSpec Metadata Profile",
    "harness.spec.experiment": "Arm Experiment",
    "harness.spec.topic": "DeleteRecords RecreateTopic TopicSpec",
    "workloads.groups.group_steps": "AskOffsets CommitOffsets RestartReader",
    "workloads.java.init_producer_id": "InitProducerId",
    "workloads.transactions.rival": "Rival",
    "harness.spec.security": "SecuritySpec",
    "workloads.java.drive_step": "Drive",
    "harness.spec.step": "Step",
    "harness.spec.steps": "Ask Heal Inject Sleep Wait Write",
    "workloads.records.config.reader_spec": "ReaderSpec",
    "workloads.records.config.producer_settings": "ProducerSettings",
    "workloads.records.config.workload_spec": "TransactionSpec WorkloadSpec",
    "workloads.own.consumer_journal": "ConsumerJournal",
    "workloads.own.aiokafka_consumer": "JournaledAIOKafkaConsumer",
    "workloads.own.aiokafka_producer": "JournaledAIOKafkaProducer",
    "workloads.own.confluent_async_producer": "JournaledAIOProducer",
    "workloads.own.confluent_consumer": "JournaledConfluentConsumer",
    "workloads.own.confluent_producer": "JournaledProducer",
    "workloads.own.delivered": "delivered",
    "workloads.own.journal": "Journal",
    "workloads.own.journaled": "journaled",
    "workloads.own.kafka_python_consumer": "JournaledKafkaConsumer",
    "workloads.own.kafka_python_producer": "JournaledKafkaProducer",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("kafka-chaos")
    elif name in ("faults", "targets"):
        value = importlib.import_module(f"kafka_chaos.{name}")
    elif name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'kafka_chaos' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
