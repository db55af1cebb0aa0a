"""The program that is copied beside nodes, and the image that it runs on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.containers import image_build, proxy_image
from harness.cluster.containers.node_proxies import _program
from harness.model.errors import PrerequisiteMissing

pytestmark = pytest.mark.pure

MODULES = """
import json, sys
import {modules}
places = {{one: getattr(module, "__file__", None) or "" for one, module in list(sys.modules.items())}}
kept = {{one: place for one, place in places.items() if "site-packages" in place or "harness" in one}}
print(json.dumps(kept))
"""


def loaded(modules: str, folder: Path) -> dict[str, str]:
    """What a new process has loaded that is not Python's own, with its file."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", MODULES.format(modules=modules)]
    run = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(run.stdout)
    return found


def test_the_copied_program_needs_kio_alone(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(_program())) as archive:
        archive.extractall(tmp_path, filter="data")
    found = loaded("harness.cluster.proxy.__main__", tmp_path)
    assert found["harness.cluster.proxy.__main__"] == str(
        tmp_path / "harness" / "cluster" / "proxy" / "__main__.py"
    )
    third = {name.partition(".")[0] for name in found} - {"harness"}
    of_kio = loaded("kio.index, kio.serial, kio.schema.index", tmp_path)
    assert third <= {name.partition(".")[0] for name in of_kio}


class Engine:
    """Has these images, and pulls nothing."""

    def __init__(self, *images: str) -> None:
        self.here = set(images)
        self.containers = self

    def version(self) -> dict[str, str]:
        return {"Arch": "arm64"}

    def run(self, *_: Any, **__: Any) -> bytes:
        return b"3.11\n"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(proxy_image, "local_image", lambda _, name: name if name in made.here else None)
    monkeypatch.setattr(proxy_image, "pull", lambda _, name: f"no registry has {name}")
    monkeypatch.setattr(image_build, "import_debian", lambda _, __, name, ___: made.here.add(name))
    return made


def test_the_official_python_is_preferred(engine: Engine) -> None:
    engine.here.add("python:3.11-slim-bookworm")
    assert proxy_image._base(engine) == "python:3.11-slim-bookworm"  # type: ignore[arg-type]


def test_without_a_registry_a_debian_is_made(engine: Engine) -> None:
    own = proxy_image._base(engine)  # type: ignore[arg-type]
    assert own.startswith("kafka-chaos/python:")
    assert own in engine.here


def test_wheels_are_fetched_for_the_images_python_and_processor(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, len(asked) - 1, "", "no matching distribution")

    monkeypatch.setattr(proxy_image.subprocess, "run", run)
    proxy_image._fetch_wheels(engine, "base", tmp_path)  # type: ignore[arg-type]
    assert "--python-version=3.11" in asked[0]
    assert "--platform=manylinux_2_28_aarch64" in asked[0]
    with pytest.raises(PrerequisiteMissing, match="no matching distribution"):
        proxy_image._fetch_wheels(engine, "base", tmp_path)  # type: ignore[arg-type]
