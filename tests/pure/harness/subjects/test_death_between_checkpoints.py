"""Flink dies once, when its output has grown since the newest checkpoint."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from harness.subjects.death_between_checkpoints import DeathBetweenCheckpoints

pytestmark = pytest.mark.pure


class Job:
    """A job whose newest checkpoint and whose output are what the test says."""

    def __init__(self) -> None:
        self.checkpoint: Path | None = None
        self.written = 0

    def death(self, state: Path, after: int | None = 100) -> DeathBetweenCheckpoints:
        return DeathBetweenCheckpoints(state, lambda: self.checkpoint, lambda: self.written, after)


def test_it_is_due_when_the_output_has_grown_since_a_checkpoint(tmp_path: Path) -> None:
    job = Job()
    death = job.death(tmp_path)
    job.written = 500
    assert not death.is_due(), "there is no checkpoint yet"
    job.checkpoint = Path("chk-1")
    assert not death.is_due()
    job.written = 599
    assert not death.is_due()
    job.written = 600
    assert death.is_due()


def test_another_checkpoint_holds_what_was_written_before_it(tmp_path: Path) -> None:
    job = Job()
    death = job.death(tmp_path)
    job.checkpoint = Path("chk-1")
    assert not death.is_due()
    job.checkpoint, job.written = Path("chk-2"), 150
    assert not death.is_due()
    job.written = 250
    assert death.is_due()


def test_it_dies_once_and_its_jvm_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
    job = Job()
    job.death(tmp_path).die(4242)
    assert killed == [(4242, signal.SIGKILL), (os.getpid(), signal.SIGKILL)]
    again = job.death(tmp_path)
    job.checkpoint = Path("chk-1")
    assert not again.is_due()
    job.written = 1000
    assert not again.is_due()


def test_without_a_planted_death_nothing_is_asked(tmp_path: Path) -> None:
    def never() -> int:
        raise AssertionError("the brokers are asked")

    death = DeathBetweenCheckpoints(tmp_path, lambda: Path("chk-1"), never, None)
    assert not death.is_due()
