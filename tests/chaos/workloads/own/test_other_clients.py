"""Programs with kafka-python, aiokafka and confluent-kafka's AIOProducer: losses and duplicates that are
planted are found, none where the client's settings rule them out, and clients are judged by what they say."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, VerdictWord
from harness.spec.experiment_files import load
from tests.chaos.support.own_programs import OwnProgram, run_programs
from tests.chaos.support.suite import Started

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

# The arms say nothing true of their producers: each client's own settings count.
LOSSES = """
name: other-clients
title: The leader of programs with other clients is cut off and dies
topic: {assignment: [[1, 2, 3]], config: {min.insync.replicas: 2}}
workload: {client: own}
together: true
steps:
  - write: {name: together, seconds: 2}
  - inject: {partition: {from: {leader: 0}, to: {followers: 0}}}
  - write: {name: alone, seconds: 0.8}
  - wait: {isr: 3, within: 10}
  - inject: {kill: {target: {leader: 0}}}
  - write: {name: after, seconds: 12}
  - heal:
arms:
  - {name: kafka-python-1, producer: {acks: all}, promise: {lost: ">= 1", duplicate: any, reordered: any}}
  - {name: kafka-python, producer: {acks: 1}}
  - {name: aiokafka, producer: {acks: all}, promise: {lost: ">= 1", duplicate: any, reordered: any}}
  - {name: aiokafka-idempotent, producer: {acks: 1}}
"""
DUPLICATES = """
name: lost-answers
title: Answers to programs with other clients are lost
topic: {assignment: [[1, 2, 3]], config: {min.insync.replicas: 2}}
cluster: {proxy: true}
workload: {client: own}
together: true
steps:
  - write: {name: before, seconds: 2}
  - inject: {requests: {on: {api: Produce, client: "twice*", share: 0.4}, do: disconnect after}}
  - write: {name: without, seconds: 5}
  - heal:
  - write: {name: after, seconds: 4}
arms:
  - {name: kafka-python-all, producer: {acks: all}, promise: {duplicate: ">= 1", reordered: any}}
  - {name: kafka-python, producer: {acks: all}}
  - {name: aiokafka-all, producer: {acks: all}, promise: {duplicate: ">= 1", reordered: any}}
  - {name: aio-producer, producer: {acks: all}, promise: {duplicate: ">= 1", reordered: any}}
"""
KAFKA_PYTHON = """
import json, os, time
from kafka import KafkaProducer
from kafka.serializer import JsonSerializer
from kafka_chaos import journaled

producer = journaled(KafkaProducer(
    bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"], client_id="twice-kafka-python",
    value_serializer=JsonSerializer(), **json.loads(os.environ["SETTINGS"])))
producer.wait_begun(60)
number = 0
while not producer.run_over:
    producer.send(os.environ["KAFKA_CHAOS_TOPIC"], {"order": number}, key=b"%d" % (number % 10))
    number += 1
    time.sleep(0.004)
producer.close(30)
"""
AIOKAFKA = """
import asyncio, json, os
from aiokafka import AIOKafkaProducer
from kafka_chaos import journaled

async def main():
    client = AIOKafkaProducer(
        bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"], client_id="twice-aiokafka",
        value_serializer=lambda order: json.dumps(order).encode(), **json.loads(os.environ["SETTINGS"]))
    async with journaled(client) as producer:
        await asyncio.to_thread(producer.wait_begun, 60)
        number = 0
        while not producer.run_over:
            await producer.send(os.environ["KAFKA_CHAOS_TOPIC"], {"order": number}, key=b"%d" % (number % 10))
            number += 1
            await asyncio.sleep(0.004)

asyncio.run(main())
"""
AIO_PRODUCER = """
import asyncio, json, os
from confluent_kafka.aio import AIOProducer
from kafka_chaos import journaled

async def main():
    client = AIOProducer({
        "bootstrap.servers": os.environ["KAFKA_CHAOS_BOOTSTRAP"], "client.id": "twice-aio",
        **json.loads(os.environ["SETTINGS"])}, batch_size=20)
    async with journaled(client) as producer:
        await asyncio.to_thread(producer.wait_begun, 60)
        number = 0
        while not producer.run_over:
            order = json.dumps({"order": number, "id": producer.identity_text})
            await producer.produce(os.environ["KAFKA_CHAOS_TOPIC"], order, key="%d" % (number % 10))
            number += 1
            await asyncio.sleep(0.004)

asyncio.run(main())
"""
PROGRAMS = {
    "kafka-python-1": (KAFKA_PYTHON, '{"acks": 1}'),
    "kafka-python": (KAFKA_PYTHON, "{}"),
    "kafka-python-all": (KAFKA_PYTHON, '{"acks": "all", "enable_idempotence": false}'),
    "aiokafka": (AIOKAFKA, "{}"),
    "aiokafka-all": (AIOKAFKA, '{"acks": "all"}'),
    "aiokafka-idempotent": (AIOKAFKA, '{"enable_idempotence": true}'),
    "aio-producer": (AIO_PRODUCER, '{"acks": "all"}'),
}


@pytest.fixture
def cluster(started: Started) -> ManagedCluster:
    return started(load("cut-then-kill").cluster.model_copy(update={"proxy": True}))


def run(cluster: ManagedCluster, experiment: str, results: Path) -> dict[str, ArmResult]:
    programs = {
        arm: OwnProgram((sys.executable, "-c", script), environment={"SETTINGS": settings})
        for arm, (script, settings) in PROGRAMS.items()
    }
    return run_programs(cluster, experiment, programs, results)


def test_losses_are_found_and_none_where_the_client_rules_them_out(
    cluster: ManagedCluster, results: Path
) -> None:
    arms = run(cluster, LOSSES, results)
    assert {name: arm.judgement.verdict for name, arm in arms.items()} == {
        "kafka-python-1": VerdictWord.INVALID,
        "kafka-python": VerdictWord.VALID,
        "aiokafka": VerdictWord.INVALID,
        "aiokafka-idempotent": VerdictWord.VALID,
    }
    settings = {name: (arm.meta.acks, arm.meta.idempotent) for name, arm in arms.items()}
    assert settings == {
        "kafka-python-1": ("1", False),
        "kafka-python": ("all", True),
        "aiokafka": ("1", False),
        "aiokafka-idempotent": ("all", True),
    }
    (said,) = arms["aiokafka"].meta.remarks
    client = f"aiokafka {version('aiokafka')}"
    assert said == f"producer 0 ({client}) has acks=1 (the arm says all): it is judged by its own settings"


def test_duplicates_are_found_and_none_of_an_idempotent_client(
    cluster: ManagedCluster, results: Path
) -> None:
    arms = run(cluster, DUPLICATES, results)
    doubled = {
        name: arm.summary.findings.get(FindingClass.DUPLICATE, 0) for name, arm in arms.items() if arm.summary
    }
    assert doubled.pop("kafka-python") == 0
    assert all(doubled.values()), doubled
