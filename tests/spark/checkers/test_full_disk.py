"""A disk that is full while a check writes: one message, exit code 3, whole journals, no summary."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.model.result import ExperimentResult
from tests.support.history import History, run_meta, write_run

pytestmark = pytest.mark.spark

COMMAND = [sys.executable, "-m", "kafka_chaos", "check"]
ENGINES = {"sail": ["--engine", "sail"], "spark": ["--spark-master", "local[1]", "--driver-memory", "1g"]}
RECORDS = 20_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a small file system, and only on Linux")
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let root mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, *, free: int) -> None:
    """Use up the file system except for `free` bytes."""
    disk = os.statvfs(place)
    (place / "other-data").write_bytes(b"0" * max(disk.f_bavail * disk.f_frsize - free, 0))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("engine", "free"),
    [
        pytest.param("sail", 4_096, id="sail, no room for the first intermediate result"),
        pytest.param("sail", 40_000, id="sail"),
        pytest.param("spark", 40_000, id="spark", marks=pytest.mark.soak),
    ],
)
def test_while_a_check_writes(engine: str, free: int, small_disk: Path) -> None:
    run = small_disk / "run"
    run.mkdir()
    history = History()
    for seq in range(RECORDS):
        history.send(seq, at=seq)
    before = files(write_run(run, history, meta=run_meta()))
    (run / "summary.json").write_text("an earlier answer")
    fill(small_disk, free=free)
    done = subprocess.run(
        [*COMMAND, *ENGINES[engine], str(run), "--quiet"], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert done.returncode == 3, said
    assert "the check failed; the journals are untouched" in said
    assert "No space left on device" in said
    assert said.count("next:") == 1
    assert {
        name: content for name, content in files(run).items() if not name.startswith("findings/")
    } == before
    assert sorted(path.name for path in run.iterdir()) == ["findings", "reads", "run.json", "sends"]


def test_while_the_result_of_an_experiment_is_written(small_disk: Path) -> None:
    """The disk is full, so that the check of the arm fails, and what became of it cannot be saved."""
    arm = small_disk / "arm"
    arm.mkdir()
    meta = run_meta(arm="arm")
    write_run(arm, History().send(0, at=0), meta=meta)
    saved = ExperimentResult(
        experiment="e", title="t", description="", arms=(), started_ns=1, seconds=2.0, command="c"
    ).model_dump_json()
    (small_disk / "result.json").write_text(saved)
    fill(small_disk, free=0)
    done = subprocess.run(
        [*COMMAND, *ENGINES["sail"], str(small_disk), "-q"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 3, done.stderr
    assert "the result of the experiment cannot be written" in done.stderr
    assert (small_disk / "result.json").read_text() == saved
    assert sorted(path.name for path in small_disk.iterdir()) == ["arm", "other-data", "result.json"]
