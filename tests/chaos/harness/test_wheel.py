"""The wheel in a clean virtual environment: what it contains, and that it is enough by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.wheel import built_wheel

PACKAGES = {"kafka_chaos", "harness", "faults", "workloads", "checkers", "compose"}
COPIED = {".go", ".mjs", ".java", ".rs", ".cs"}
"""Journals for programs in other languages."""
UNREACHABLE = ("error sending request", "dns error", "failed to fetch", "connection refused")
SUITE = """
import pytest

@pytest.mark.chaos("cut-then-kill", arms=["acks=all"])
def test_nothing_is_lost(chaos):
    chaos().assert_lost(0)
"""


def call(*command: str | Path, folder: Path, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a virtual environment that has the wheel, its requirements and pytest."""
    folder = tmp_path_factory.mktemp("clean")
    uv = Path(sys.executable).with_name("uv")
    made = call(uv, "venv", "--python", sys.executable, folder / "venv", folder=folder)
    assert made.returncode == 0, made.stderr
    programs = folder / "venv" / "bin"
    installed = call(
        uv, "pip", "install", "--python", programs / "python", wheel, "pytest", folder=folder, seconds=1200
    )
    if installed.returncode and any(sign in installed.stderr.lower() for sign in UNREACHABLE):
        pytest.skip(f"no package index can be reached: {installed.stderr.strip()[-300:]}")
    assert installed.returncode == 0, installed.stderr
    return programs


@pytest.mark.chaos
def test_the_wheel_has_all_packages_and_data_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == PACKAGES
    assert not [name for name in names if name.startswith("harness/cli/docgen") or "__pycache__" in name]
    sources = [
        path.relative_to(ROOT).as_posix()
        for package in ("harness", "workloads")
        for path in (ROOT / package).rglob("*")
        if (path.suffix in {".yaml", ".tsv", ".j2", ".css", *COPIED} or path.parent.name == "ci_files")
        and "docgen" not in path.parts
    ]
    assert sources
    assert not set(sources) - names
    assert {
        "kafka_chaos/py.typed",
        "compose/kafka/Dockerfile",
    } <= names


@pytest.mark.chaos
@pytest.mark.soak
def test_the_installed_command_starts_away_from_the_repository(clean: Path, tmp_path: Path) -> None:
    imported = call(
        clean / "python", "-c", "import kafka_chaos; print(kafka_chaos.__file__)", folder=tmp_path
    )
    assert imported.returncode == 0, imported.stderr
    assert Path(imported.stdout.strip()).is_relative_to(clean.parent)
    shown = call(clean / "kafka-chaos", "--help", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "doctor" in shown.stdout


@pytest.mark.chaos
def test_library_code_installs_no_system_packages() -> None:
    """Only set-up does; the toolbox image is another machine."""
    found = [
        path.relative_to(ROOT).as_posix()
        for package in sorted(PACKAGES)
        for path in (ROOT / package).rglob("*.py")
        if "apt-get" in path.read_text()
    ]
    assert found == []


@pytest.mark.chaos
@pytest.mark.soak
def test_doctor_a_run_and_the_plugin_work_from_the_wheel(clean: Path, tmp_path: Path) -> None:
    doctor = call(clean / "kafka-chaos", "doctor", folder=tmp_path)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    run = call(clean / "kafka-chaos", "run", "cut-then-kill", folder=tmp_path, seconds=1200)
    assert run.returncode == 0, run.stdout + run.stderr
    (tmp_path / "test_it.py").write_text(SUITE)
    suite = call(clean / "python", "-m", "pytest", "-q", "test_it.py", folder=tmp_path, seconds=1200)
    assert suite.returncode == 0, suite.stdout + suite.stderr
