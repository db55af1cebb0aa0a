"""A planted death leaves on disk what a driver leaves that dies between write and commit. A job dies once,
when its output has grown since the newest checkpoint."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from harness.model.polling import poll_within
from workloads.applications.built_in.planted_deaths import DeathBetweenCheckpoints, PlantedDeath

pytestmark = pytest.mark.pure


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "state" / "checkpoint"
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
        (folder / name / "0").touch()
    return folder


def _await_planted(checkpoint: Path) -> None:
    missing = poll_within(60, lambda: None if (checkpoint / "commits").is_file() else "not planted", 0.01)
    assert missing is None


def test_commits_fail_once_the_batch_has_begun(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
    death = PlantedDeath(checkpoint, 1)
    death.plant(4242)
    death.die_if_planted()
    assert killed == [], "its batch has not begun"
    (checkpoint / "offsets" / "1").touch()
    _await_planted(checkpoint)
    with pytest.raises(OSError, match="Not a directory"):
        (checkpoint / "commits" / "1").touch()
    death.die_if_planted()
    assert killed == [(4242, signal.SIGKILL), (os.getpid(), signal.SIGKILL)]
    assert [one.name for one in (checkpoint / "commits").iterdir()] == ["0"]
    assert sorted(one.name for one in checkpoint.iterdir()) == ["commits", "offsets"]


def test_it_dies_once(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "kill", lambda *_: None)
    (checkpoint / "offsets" / "1").touch()
    first = PlantedDeath(checkpoint, 1)
    first.plant(1)
    _await_planted(checkpoint)
    first.die_if_planted()

    def no_thread(*_: object, **__: object) -> None:
        raise AssertionError("it waits for another death")

    monkeypatch.setattr(threading, "Thread", no_thread)
    PlantedDeath(checkpoint, 1).plant(1)
    PlantedDeath(checkpoint, None).plant(1)


def test_a_folder_that_was_left_away_is_put_back(checkpoint: Path) -> None:
    (checkpoint / "commits").rename(checkpoint / "commits.away")
    (checkpoint / "commits").touch()
    PlantedDeath(checkpoint, 1).clear()
    assert (checkpoint / "commits" / "0").exists()


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
