"""No Java, too old a Java, a Java that does not run: told before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.spark.java import feature_release, java_of_spark
from harness.model.errors import PrerequisiteMissing

pytestmark = pytest.mark.pure


def _java(folder: Path, script: str) -> Path:
    """A home directory whose `bin/java` is this shell script."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return folder


def _prints(first_line: str) -> str:
    return f"echo '{first_line}' >&2"


def test_no_java_anywhere(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match="Java was not found") as caught:
        java_of_spark({"PATH": str(tmp_path)})
    assert "Java 17" in (caught.value.expected or "")
    assert "openjdk-17" in (caught.value.next_step or "")
    assert caught.value.exit_code == 3


def test_java_home_goes_before_the_path_as_spark_has_it(tmp_path: Path) -> None:
    home = _java(tmp_path / "home", _prints('openjdk version "21.0.1" 2023-10-17'))
    other = _java(tmp_path / "other", _prints('openjdk version "17.0.15" 2025-04-15'))
    path = str(other / "bin")
    assert java_of_spark({"JAVA_HOME": str(home), "PATH": path}).release == 21
    assert java_of_spark({"PATH": path}).release == 17
    with pytest.raises(PrerequisiteMissing, match="JAVA_HOME=/nowhere"):
        java_of_spark({"JAVA_HOME": "/nowhere", "PATH": path})


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
