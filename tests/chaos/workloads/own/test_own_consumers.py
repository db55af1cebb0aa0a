"""Consumers of kafka-python, aiokafka and confluent-kafka in tests of a user's: what a client's own commit
skips after an error is found, and nothing is said of one that goes on where it stopped."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.soak]
pytest_plugins = ["pytester"]

INSTALLED = any(one.value == "harness.pytest_plugin" for one in entry_points(group="pytest11"))
LOADED = () if INSTALLED else ("-p", "harness.pytest_plugin")

TESTS = '''
import asyncio
import threading
import time

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from kafka import KafkaConsumer

from kafka_chaos import ConsumerJournal

EXPERIMENT = {
    "name": "orders",
    "title": "The leader dies while consumers of other clients read",
    "workload": {"rate": 200},
    "topic": {"partitions": 2, "replication_factor": 3, "config": {"min.insync.replicas": 2}},
    "steps": [
        {"write": {"name": "steady", "seconds": 12, "faults": [
            {"fault": {"kill": {"target": {"leader": 0}}}, "at": 3, "for": 4}]}}
    ],
    "arms": [{"name": "all", "producer": {"acks": "all", "enable_idempotence": True}}],
}


class Failed(Exception):
    """What a handler raises once."""


class Handler:
    def __init__(self, fails_at=0):
        self.fails_at, self.handled = fails_at, 0

    def __call__(self, record):
        self.handled += 1
        if self.handled == self.fails_at:
            raise Failed


class Program:
    """A member of a group, and after an error of its handler another one."""

    def __init__(self, run, fails_at):
        self.run, self.over, self.fails_at = run, threading.Event(), fails_at

    def __call__(self):
        try:
            self.member(Handler(self.fails_at))
        except Failed:
            self.member(Handler())


class KafkaPython(Program):
    """Reads with `poll`, and closes its consumer however it ends."""

    def member(self, handle):
        consumer = self.run.delivered(KafkaConsumer(
            self.run.topic, bootstrap_servers=self.run.bootstrap, group_id="kafka-python",
            auto_offset_reset="earliest", session_timeout_ms=9000))
        try:
            while not self.over.is_set():
                for records in consumer.poll(timeout_ms=200).values():
                    for record in records:
                        handle(record)
        finally:
            consumer.close()


class Aio(Program):
    def member(self, handle):
        asyncio.run(self.read(handle))

    async def read(self, handle):
        consumer = self.run.delivered(AIOKafkaConsumer(
            self.run.topic, bootstrap_servers=self.run.bootstrap, group_id="aiokafka",
            auto_offset_reset="earliest", session_timeout_ms=9000))
        await consumer.start()
        try:
            while not self.over.is_set():
                try:
                    handle(await asyncio.wait_for(consumer.getone(), 0.5))
                except asyncio.TimeoutError:
                    pass
        finally:
            await consumer.stop()


class Confluent(Program):
    members = 0

    def member(self, handle):
        Confluent.members += 1
        journal = ConsumerJournal("confluent", f"member-{Confluent.members}", session_ms=9000,
                                  topic=self.run.topic)
        consumer = self.run.delivered(Consumer({
            "bootstrap.servers": self.run.bootstrap, "group.id": "confluent", "session.timeout.ms": 9000,
            "auto.offset.reset": "earliest", "on_commit": journal.on_commit}), journal=journal)
        consumer.subscribe([self.run.topic])
        try:
            while not self.over.is_set():
                message = consumer.poll(0.2)
                if message is not None and message.error() is None:
                    handle(message)
        finally:
            consumer.close()


CLIENTS = [KafkaPython, Aio, Confluent]


def run_with(chaos, fails_at, check):
    """One run that consumers of all clients follow; `check` is called once it is over."""
    with chaos.started(EXPERIMENT) as run:
        programs = [client(run, fails_at) for client in CLIENTS]
        threads = [threading.Thread(target=program) for program in programs]
        for thread in threads:
            thread.start()
        result = run.wait()
        try:
            check(result)
        finally:
            for program in programs:
                program.over.set()
            for thread in threads:
                thread.join(60)


def of_group(result, group):
    return lambda: [journal for journal in result.members if journal.group == group]


def test_nothing_is_said_of_consumers_that_miss_nothing(chaos):
    def check(result):
        assert {journal.group for journal in result.members} == {"kafka-python", "aiokafka", "confluent"}
        for group in ("kafka-python", "aiokafka", "confluent"):
            result.assert_delivered(of_group(result, group), within=60)
        result.assert_delivered(within=60)

    run_with(chaos, 0, check)


def test_what_a_client_commits_when_it_is_closed_after_an_error_is_found(chaos):
    def check(result):
        for group in ("kafka-python", "aiokafka", "confluent"):
            with pytest.raises(AssertionError, match=r"record.s. were never processed") as found:
                result.assert_delivered(of_group(result, group), within=25)
            print(group, str(found.value))
            assert f"commit_ahead: " in str(found.value)
            assert f"of group {group} committed" in str(found.value)

    run_with(chaos, 300, check)
'''


def test_consumers_of_other_clients_are_judged(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_orders=TESTS)
    done = pytester.runpytest_subprocess(*LOADED, "-p", "no:cacheprovider", timeout=900)
    done.assert_outcomes(passed=2)
