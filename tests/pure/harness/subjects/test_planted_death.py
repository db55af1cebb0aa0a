"""A planted death leaves on disk what a driver leaves that dies between write and commit."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from harness.model.polling import poll_within
from harness.subjects.planted_death import PlantedDeath

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
