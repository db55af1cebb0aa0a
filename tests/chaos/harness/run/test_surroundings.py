"""What the harness stands on gives way in the middle of a run: the engine, the disk, its images; and a
neighbour.

Each time: one clear message and exit code 3, no traceback, the journals are kept and can be checked, and
nothing is left once `clean` has run.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from docker.errors import DockerException

from harness.cluster.containers import docker_engine, images
from tests.chaos.support.docker_socket_relay import relay
from tests.chaos.support.processes import await_sends, checked, kafka_chaos, owned_by, started

pytestmark = [pytest.mark.chaos, pytest.mark.soak, pytest.mark.usefixtures("only_sweeper")]

SPEC = """
name: steady
title: writes for a while
topic: {partitions: 1, replication_factor: 3}
workload: {producers: 1, rate: 500}
steps:
  - write: {name: w, seconds: 25}
arms: [{name: one, producer: {acks: all, enable.idempotence: true}}]
"""
CUT_AFTER_A_KILL = SPEC.replace(
    "seconds: 25}",
    "seconds: 20, faults: [{fault: {kill: {target: {leader: 0}}}, at: 3, for: 2},"
    " {fault: {partition: {from: {leader: 0}, to: {followers: 0}}}, at: 14, for: 2}]}",
)
RESULTS_MIB = 64


def begun(
    spec: Path, results: Path, state: Path, more: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """A run of which sends are on disk."""
    child = started(state, "run", str(spec), "--results", str(results), "--quiet", more=more)
    await_sends(child, results, "one", 300)
    return child


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "steady.yaml"
    path.write_text(SPEC)
    return path


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "state"
    yield folder
    kafka_chaos(folder, "clean")


@contextmanager
def named_apart(test: str) -> Iterator[tuple[str, str]]:
    """Names for the images of nodes and sidecars that only one test knows."""
    client = docker_engine.connect()
    node, toolbox = images.resolve(client).reference, images.toolbox(client)
    mine = [f"kafka-chaos/{test.replace('_', '-')}-{what}:1" for what in ("node", "toolbox")]
    for of, name in zip((node, toolbox), mine, strict=True):
        client.images.get(of).tag(name)
    try:
        yield mine[0], mine[1]
    finally:
        for name in mine:
            with suppress(DockerException):
                client.images.remove(name, force=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    size = f"size={RESULTS_MIB}m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(ballast: Path) -> None:
    """Write until there is no room: the run writes too, so that the room cannot be asked for beforehand."""
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))


def test_the_engine_goes_away(spec: Path, state: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    with relay(Path(tempfile.mkdtemp(prefix="kc-"))) as middle:
        child = begun(spec, results, state, {"DOCKER_HOST": middle.address})
        middle.cut()
        said = child.communicate(timeout=400)[0]
    assert child.returncode == 3, said
    assert "Traceback" not in said
    assert "Docker engine" in said, "which is not in the folder's name"
    (run,) = results.glob("*/one")
    assert json.loads((run / "run.json").read_text())["problems"]
    assert checked(run, state)["summary"]["sent"]
    # What could not be removed then is removed now.
    assert owned_by(child.pid)
    assert kafka_chaos(state, "clean").returncode == 0
    assert owned_by(child.pid) == []


def test_the_disk_with_the_journals_is_full(spec: Path, state: Path, small_disk: Path) -> None:
    child = begun(spec, small_disk, state)
    fill(small_disk / "ballast")
    said = child.communicate(timeout=400)[0]
    assert child.returncode == 3, said
    assert "Traceback" not in said
    assert "No space left" in said
    assert owned_by(child.pid) == []
    (small_disk / "ballast").unlink()
    (run,) = small_disk.glob("*/one")
    assert checked(run, state)["summary"]["sent"]


def test_its_images_vanish(spec: Path, state: Path, tmp_path: Path) -> None:
    """They have names of their own, since other tests need the images meanwhile."""
    with named_apart(tmp_path.name) as (node, toolbox):
        spec.write_text(CUT_AFTER_A_KILL + f"cluster: {{image: {node}}}\n")
        (tmp_path / "sitecustomize.py").write_text(
            f"from harness.cluster.containers import images\nimages.TOOLBOX = {toolbox!r}\n"
        )
        paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH") or "."])}
        child = begun(spec, tmp_path / "results", state, paths)
        (run,) = (tmp_path / "results").glob("*/one")
        client = docker_engine.connect()
        for name in (node, toolbox):
            client.images.remove(name, force=True)
        said = child.communicate(timeout=400)[0]
        assert owned_by(child.pid) == []
    assert child.returncode == 3, said
    assert "Traceback" not in said
    assert f"No such image: {toolbox}" in said
    assert checked(run, state)["summary"]["sent"]
    # The node that was killed has its container, and is started again without its image's name.
    windows = json.loads((run / "run.json").read_text())["windows"]
    assert next(window["closed_ns"] for window in windows if window["kind"] == "kill")


def test_two_harnesses_leave_each_other_alone(spec: Path, state: Path, tmp_path: Path) -> None:
    # So long that the first is still there when the second is.
    spec.write_text(SPEC.replace("seconds: 25", "seconds: 120"))
    first = begun(spec, tmp_path / "first", state)
    mine = owned_by(first.pid)
    assert len(mine) >= 5
    second = begun(spec, tmp_path / "second", state)
    assert first.poll() is None, "the first has ended before the second began"
    assert kafka_chaos(state, "clean").returncode == 0
    assert set(owned_by(first.pid)) >= set(mine)
    assert len(owned_by(second.pid)) >= 5
    for child in (first, second):
        said = child.communicate(timeout=400)[0]
        assert child.returncode == 0, said
        assert owned_by(child.pid) == []
