"""The programs of docs/how-to/own-producer.md, as they stand there, and one with `Journal`: every record of
theirs is accounted for when a leader dies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cluster.managed import ManagedCluster
from harness.model.result import VerdictWord
from harness.spec.experiment_files import load
from tests.chaos.support.own_programs import OwnProgram, run_programs
from tests.chaos.support.suite import Started
from tests.support.paths import ROOT
from workloads.own.language_files import LANGUAGES, language_file

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

PAGE = (ROOT / "docs/how-to/own-producer.md").read_text()
UNREACHABLE = (
    "dial tcp",
    "no such host",
    "i/o timeout",
    "enotfound",
    "econnrefused",
    "eai_again",
    "etimedout",
)
EXPERIMENT = """
name: other-languages
title: The leader of programs in other languages dies
topic: {assignment: [[1, 2, 3]], config: {min.insync.replicas: 2}}
workload: {client: own}
together: true
steps:
  - write:
      name: steady
      seconds: 14
      faults: [{fault: {kill: {target: {leader: 0}}}, at: 3, for: 4}]
arms:
  - {name: go, producer: {acks: 1}}
  - {name: javascript, producer: {acks: 1}, promise: {duplicate: any, reordered: any}}
  - {name: python, producer: {acks: 1}}
"""
KAFKA_PYTHON = """
import os, time
from kafka import KafkaProducer
from kafka_chaos import Journal

producer = KafkaProducer(bootstrap_servers=os.environ["KAFKA_CHAOS_BOOTSTRAP"])
with Journal.begin("kafka-python 3", acks="all", idempotent=True) as journal:
    journal.wait_begun(60)
    number = 0
    while not journal.run_over:
        key, value = b"%d" % (number % 10), b'{"order": %d}' % number
        seq, header = journal.sent(value, key=key)
        future = producer.send(journal.topic, value, key=key, headers=[header])
        future.add_callback(
            lambda done, seq=seq: journal.acked(seq, partition=done.partition, offset=done.offset))
        future.add_errback(lambda error, seq=seq: journal.failed(seq, error))
        number += 1
        time.sleep(0.005)
    producer.close(8)
"""


def installed(folder: Path, *command: str) -> None:
    """A command of the page that installs a client, or begins a module, has been carried out."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not on this machine")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    said = done.stdout + done.stderr
    if done.returncode and any(sign in said.lower() for sign in UNREACHABLE):
        pytest.skip(f"no package can be had: {said.strip()[-300:]}")
    assert done.returncode == 0, said


def block(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


def command_of(program: str) -> tuple[str, ...]:
    """The command in the text of the page that installs a package."""
    (found,) = re.findall(rf"`({program} (?:get|install) [^`]+)`", PAGE)
    return tuple(found.split())


@pytest.fixture
def go_program(tmp_path: Path) -> OwnProgram:
    folder = tmp_path / "shop"
    (folder / "kafkachaos").mkdir(parents=True)
    (folder / "main.go").write_text(block("go"))
    (folder / "kafkachaos" / LANGUAGES["go"]).write_text(language_file("go"))
    installed(folder, "go", "mod", "init", "shop")
    installed(folder, *command_of("go"))
    installed(folder, "go", "build", "-o", "shop", ".")
    return OwnProgram(("./shop",), folder)


@pytest.fixture
def javascript_program(tmp_path: Path) -> OwnProgram:
    folder = tmp_path / "shop-js"
    folder.mkdir()
    (folder / "shop.mjs").write_text(block("js"))
    (folder / LANGUAGES["javascript"]).write_text(language_file("javascript"))
    installed(folder, *command_of("npm"))
    return OwnProgram(("node", "shop.mjs"), folder)


@pytest.fixture
def cluster(started: Started) -> ManagedCluster:
    return started(load("cut-then-kill").cluster)


def test_the_programs_of_the_page_are_accounted_for(
    cluster: ManagedCluster, go_program: OwnProgram, javascript_program: OwnProgram, results: Path
) -> None:
    programs = {
        "go": go_program,
        "javascript": javascript_program,
        "python": OwnProgram((sys.executable, "-c", KAFKA_PYTHON)),
    }
    arms = run_programs(cluster, EXPERIMENT, programs, results)
    assert {name: arm.judgement.verdict for name, arm in arms.items()} == {
        "go": VerdictWord.VALID,
        "javascript": VerdictWord.VALID,
        "python": VerdictWord.VALID,
    }
    # Not what the arms say, but what the programs say of their clients.
    settings = {name: (arm.meta.acks, arm.meta.idempotent) for name, arm in arms.items()}
    assert settings == {"go": ("all", True), "javascript": ("all", False), "python": ("all", True)}
    for name, arm in arms.items():
        assert arm.summary is not None
        # The program in JavaScript awaits each send, of which one takes as long as an election.
        assert arm.summary.sent > 20, name
        assert arm.summary.outcomes.get("acked", 0) > 0.9 * arm.summary.sent, name
