"""Client libraries compared on real brokers: what they ask for, a loss by their settings, and a control."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lab.clients.client_run import ClientRun
from harness.lab.clients.comparison import ClientArm, Load
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
