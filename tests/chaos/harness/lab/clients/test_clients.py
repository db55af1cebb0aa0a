"""Client libraries compared on real brokers: what they ask for, a loss by their settings, and a control."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.cluster.containers import docker_engine, images
from harness.lab.clients.client_run import ClientRun
from harness.lab.clients.comparison import ClientArm, Load
from harness.lab.clients.installing import install, named_client
from harness.lab.clients.participants import chosen_faults, participants
from harness.lab.clients.runner import compare_clients, new_comparison
from harness.model.defaults import DEFAULT_VERSION
from harness.model.result import VerdictWord
from harness.run.executor import Options

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


@pytest.fixture(scope="module")
def arms() -> tuple[ClientArm, ...]:
    """kafka-python in both modes, and a program that only exits."""
    arms, left_out = participants(["kafka-python"], [], "python -c 'raise SystemExit(3)'", "own")
    assert left_out == {}
    return arms


def compared(fault: str, arms: tuple[ClientArm, ...], results: Path) -> dict[str, ClientRun]:
    """One run of a fault; the runs of the arms by mode, that of the other program as `own`."""
    faults, options = chosen_faults([fault]), Options(results=results, seed=4)
    folder, begun = new_comparison(faults, arms, {}, options)
    result = compare_clients(faults, arms, Load(DEFAULT_VERSION), options, begun, folder)
    return {run.client if run.client == "own" else run.mode: run for run in result.runs}


def test_a_loss_is_the_settings_and_a_program_that_ends_proves_nothing(
    arms: tuple[ClientArm, ...], results: Path
) -> None:
    runs = compared("cut-then-kill", arms, results)
    careful, careless, own = runs["default"], runs["acks=1"], runs["own"]
    assert careful.verdict is VerdictWord.VALID, careful
    assert (careful.acks, careful.idempotent) == ("all", True)
    assert careful.acked > 500
    assert (careful.lost, careful.duplicates, careful.reordered) == (0, 0, 0)
    assert careless.verdict is VerdictWord.INVALID, careless
    assert (careless.acks, careless.idempotent) == ("1", False)
    assert careless.lost > 50
    assert own.verdict is VerdictWord.UNKNOWN
    assert "the program ended by itself with code 3" in " ".join(own.reasons)


def test_what_clients_ask_for_is_read_from_their_requests(arms: tuple[ClientArm, ...], results: Path) -> None:
    runs = compared("none", arms[:2], results)
    assert {mode: run.wire for mode, run in runs.items()} == {
        "default": "acks=all, producer id",
        "acks=1": "acks=1",
    }
    assert all(run.verdict is VerdictWord.VALID for run in runs.values())


def test_the_answer_to_each_client_is_lost_once(arms: tuple[ClientArm, ...], results: Path) -> None:
    """Without idempotence the batch is there twice; with it it is not."""
    runs = compared("lost-answer", arms[:2], results)
    assert (runs["default"].verdict, runs["default"].duplicates) == (VerdictWord.VALID, 0)
    assert runs["acks=1"].duplicates >= 1


IN_A_CONTAINER = """
title: The Java client in a container
language: java
registry: none
package: ours
version: 4.4.0
needs: [no-such-tool]
image: {image}
install: [["true"]]
command: [java, -cp, "{{folder}}/classes:{{folder}}/jars/*", SendingProgram, "{{version}}"]
modes:
  default: {{says: "new KafkaProducer<>(...)"}}
"""


def test_a_client_without_its_tools_sends_from_a_container(tmp_path: Path, results: Path) -> None:
    """Its program is the Java client's, which is built here, since the image of Kafka has no compiler."""
    engine = docker_engine.connect()
    built = install(named_client("java"))
    shutil.copytree(built.folder, tmp_path / "ours")
    (tmp_path / "ours.yaml").write_text(IN_A_CONTAINER.format(image=images.resolve(engine).reference))
    arms, left_out = participants([str(tmp_path / "ours.yaml")], [], None, "own")
    assert left_out == {}
    assert [arm.image for arm in arms] == [images.resolve(engine).reference]
    runs = [compared(fault, arms, results)["default"] for fault in ("none", "kill")]
    for run in runs:
        assert run.verdict is VerdictWord.VALID, run
        assert (run.acks, run.idempotent) == ("all", True)
        assert run.acked > 500
        assert (run.lost, run.duplicates, run.failures) == (0, 0, 0)
    assert runs[0].wire == "acks=all, producer id", "proxies see it"
    logs = list(results.glob("clients-*/**/producers/program-0.log"))
    assert len(logs) == 2, "what it has printed is kept"
    label = {"label": docker_engine.APPLICATION_LABEL}
    assert engine.containers.list(all=True, filters=label) == [], "none is left"
    engine.close()
